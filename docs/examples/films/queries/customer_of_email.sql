-- rqps: class = point, weight = 50
-- rqps: param email text from "select email from customer"
select customer_id, first_name, last_name from customer where email = :email
