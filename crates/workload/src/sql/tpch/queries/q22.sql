-- Customers who may buy again.
-- rqps: param code1 text from codes.csv#code1
-- rqps: param code2 text from codes.csv#code2
-- rqps: param code3 text from codes.csv#code3
-- rqps: param code4 text from codes.csv#code4
-- rqps: param code5 text from codes.csv#code5
-- rqps: param code6 text from codes.csv#code6
-- rqps: param code7 text from codes.csv#code7
select cntrycode, count(*) as numcust, sum(c_acctbal) as totacctbal
from (
  select substr(c_phone, 1, 2) as cntrycode, c_acctbal
  from customer
  where substr(c_phone, 1, 2) in (:code1, :code2, :code3, :code4, :code5, :code6, :code7)
    and c_acctbal > (
      select avg(c_acctbal)
      from customer
      where c_acctbal > 0.00
        and substr(c_phone, 1, 2) in (:code1, :code2, :code3, :code4, :code5, :code6, :code7)
    )
    and not exists (select * from orders where o_custkey = c_custkey)
) without_orders
group by cntrycode
order by cntrycode
