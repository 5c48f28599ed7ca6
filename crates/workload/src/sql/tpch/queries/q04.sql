-- Order priority checking.
-- rqps: rows = 5
-- rqps: param first_day date from quarters.csv#first_day
-- rqps: param next_day date from quarters.csv#next_day
select o_orderpriority, count(*) as order_count
from orders
where o_orderdate >= :first_day
  and o_orderdate < :next_day
  and exists (
    select * from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate
  )
group by o_orderpriority
order by o_orderpriority
