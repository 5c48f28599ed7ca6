-- Revenue of small orders.
-- rqps: rows = 1
-- rqps: param brand text from "select distinct p_brand, p_container from part"
-- rqps: param container text from "select distinct p_brand, p_container from part"
-- rqps: float = 1e-6
select sum(l_extendedprice) / 7.0 as avg_yearly
from lineitem, part
where p_partkey = l_partkey
  and p_brand = :brand
  and p_container = :container
  and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where l_partkey = p_partkey)
