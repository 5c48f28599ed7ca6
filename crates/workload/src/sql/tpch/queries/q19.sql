-- Discounted revenue.
-- rqps: rows = 1
-- rqps: param quantity1 int = random(1, 10)
-- rqps: param quantity2 int = random(10, 20)
-- rqps: param quantity3 int = random(20, 30)
-- rqps: param brand1 text from brands.csv#brand1
-- rqps: param brand2 text from brands.csv#brand2
-- rqps: param brand3 text from brands.csv#brand3
select sum(l_extendedprice * (1 - l_discount)) as revenue
from lineitem, part
where p_partkey = l_partkey
  and l_shipmode in ('AIR', 'AIR REG')
  and l_shipinstruct = 'DELIVER IN PERSON'
  and (
    (
      p_brand = :brand1
      and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
      and l_quantity between :quantity1 and :quantity1 + 10
      and p_size between 1 and 5
    )
    or (
      p_brand = :brand2
      and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
      and l_quantity between :quantity2 and :quantity2 + 10
      and p_size between 1 and 10
    )
    or (
      p_brand = :brand3
      and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
      and l_quantity between :quantity3 and :quantity3 + 10
      and p_size between 1 and 15
    )
  )
