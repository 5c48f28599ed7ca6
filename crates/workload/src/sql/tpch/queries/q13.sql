-- Distribution of customers by orders.
-- rqps: param words text from words.csv#pattern
select c_count, count(*) as custdist
from (
  select c_custkey, count(o_orderkey) as c_count
  from customer left outer join orders on c_custkey = o_custkey and o_comment not like :words
  group by c_custkey
) orders_of_customers
group by c_count
order by custdist desc, c_count desc
