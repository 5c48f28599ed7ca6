-- rqps: param customer int from "select distinct customer from shop.orders"
select o.id, o.total from shop.orders o where o.customer = :customer order by o.id;
