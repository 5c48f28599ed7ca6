-- Forecast of a change of revenue.
-- rqps: rows = 1
-- rqps: param first_day date from years.csv#first_day
-- rqps: param next_day date from years.csv#next_day
-- rqps: param least numeric from discounts.csv#least
-- rqps: param most numeric from discounts.csv#most
-- rqps: param quantity int = random(24, 25)
select sum(l_extendedprice * l_discount) as revenue
from lineitem
where l_shipdate >= :first_day
  and l_shipdate < :next_day
  and l_discount between cast(:least as decimal(4, 2)) and cast(:most as decimal(4, 2))
  and l_quantity < :quantity
