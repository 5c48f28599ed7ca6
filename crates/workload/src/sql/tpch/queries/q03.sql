-- Shipping priority.
-- rqps: param segment text from "select distinct c_mktsegment from customer"
-- rqps: param day date from q03.csv#day
select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
from customer, orders, lineitem
where c_mktsegment = :segment
  and c_custkey = o_custkey
  and l_orderkey = o_orderkey
  and o_orderdate < :day
  and l_shipdate > :day
group by l_orderkey, o_orderdate, o_shippriority
order by revenue desc, o_orderdate, l_orderkey
limit 10
