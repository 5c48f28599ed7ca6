-- Shipping modes and priorities.
-- rqps: rows = 2
-- rqps: param mode1 text from modes.csv#mode1
-- rqps: param mode2 text from modes.csv#mode2
-- rqps: param first_day date from years.csv#first_day
-- rqps: param next_day date from years.csv#next_day
select l_shipmode,
  sum(case when o_orderpriority = '1-URGENT' or o_orderpriority = '2-HIGH' then 1 else 0 end)
    as high_line_count,
  sum(case when o_orderpriority <> '1-URGENT' and o_orderpriority <> '2-HIGH' then 1 else 0 end)
    as low_line_count
from orders, lineitem
where o_orderkey = l_orderkey
  and l_shipmode in (:mode1, :mode2)
  and l_commitdate < l_receiptdate
  and l_shipdate < l_commitdate
  and l_receiptdate >= :first_day
  and l_receiptdate < :next_day
group by l_shipmode
order by l_shipmode
