select customer.customer_id, email, sum(amount) as amount
from payment join customer on customer.customer_id = payment.customer_id
where is_active = 1
group by customer.customer_id, email
order by amount desc, customer.customer_id
limit 20
