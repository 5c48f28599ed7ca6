-- Important stock.
-- rqps: param nation text from "select n_name from nation"
-- rqps: param fraction numeric from q11.csv#fraction
select ps_partkey, sum(ps_supplycost * ps_availqty) as stock_value
from partsupp, supplier, nation
where ps_suppkey = s_suppkey
  and s_nationkey = n_nationkey
  and n_name = :nation
group by ps_partkey
having sum(ps_supplycost * ps_availqty) > (
  select sum(ps_supplycost * ps_availqty) * cast(:fraction as decimal(12, 10))
  from partsupp, supplier, nation
  where ps_suppkey = s_suppkey
    and s_nationkey = n_nationkey
    and n_name = :nation
)
order by stock_value desc, ps_partkey
