-- rqps: weight = 5
-- rqps: param day date from "select distinct paid_on from payment"
select count(*) as payments, sum(amount) as amount from payment where paid_on = :day
