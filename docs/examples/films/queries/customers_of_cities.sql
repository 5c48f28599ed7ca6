-- rqps: weight = 10
-- rqps: param one int = random(0, 99)
-- rqps: param two int = random(100, 199)
-- rqps: param three int = random(200, 299)
select customer_id, email, city_id
from customer
where city_id = :one or city_id = :two or city_id = :three
order by customer_id
