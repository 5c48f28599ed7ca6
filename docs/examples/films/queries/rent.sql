-- rqps: weight = 20, transaction = rollback
-- rqps: param disc int = random(0, 4999)
-- rqps: param customer int = random(0, 1999)
insert into rental values (100000, :disc, :customer, 1, '2026-01-02', null);
insert into payment
select 100000, 100000, :customer, 1, price, '2026-01-02'
from disc join film on film.film_id = disc.film_id
where disc_id = :disc
