-- On foreign keys and dates, as clause 1.5.4 allows.
create index nation_region on nation (n_regionkey);
create index supplier_nation on supplier (s_nationkey);
create index partsupp_supplier on partsupp (ps_suppkey);
create index customer_nation on customer (c_nationkey);
create index orders_customer on orders (o_custkey);
create index orders_date on orders (o_orderdate);
create index lineitem_part_supplier on lineitem (l_partkey, l_suppkey);
create index lineitem_supplier on lineitem (l_suppkey);
create index lineitem_shipdate on lineitem (l_shipdate);
