-- rqps: class = point, weight = 100
-- rqps: param film int = random(0, 999)
select title, description, price, minutes, rating from film where film_id = :film
