-- Effect of promotions.
-- rqps: rows = 1
-- rqps: param first_day date from months.csv#first_day
-- rqps: param next_day date from months.csv#next_day
-- rqps: float = 1e-4
select 100.00 * sum(
    case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end
  ) / sum(l_extendedprice * (1 - l_discount)) as promo_revenue
from lineitem, part
where l_partkey = p_partkey
  and l_shipdate >= :first_day
  and l_shipdate < :next_day
