-- Suppliers by kinds of parts.
-- rqps: param brand text from "select distinct p_brand from part"
-- rqps: param type text from kinds.csv#pattern
-- rqps: param size1 int from sizes.csv#size1
-- rqps: param size2 int from sizes.csv#size2
-- rqps: param size3 int from sizes.csv#size3
-- rqps: param size4 int from sizes.csv#size4
-- rqps: param size5 int from sizes.csv#size5
-- rqps: param size6 int from sizes.csv#size6
-- rqps: param size7 int from sizes.csv#size7
-- rqps: param size8 int from sizes.csv#size8
select p_brand, p_type, p_size, count(distinct ps_suppkey) as supplier_cnt
from partsupp, part
where p_partkey = ps_partkey
  and p_brand <> :brand
  and p_type not like :type
  and p_size in (:size1, :size2, :size3, :size4, :size5, :size6, :size7, :size8)
  and ps_suppkey not in (
    select s_suppkey from supplier where s_comment like '%Customer%Complaints%'
  )
group by p_brand, p_type, p_size
order by supplier_cnt desc, p_brand, p_type, p_size
