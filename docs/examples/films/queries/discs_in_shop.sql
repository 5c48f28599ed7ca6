-- rqps: weight = 30
-- rqps: param film int = random(0, 949)
-- rqps: param shop int = random(0, 3)
select disc_id
from disc
where film_id = :film and shop_id = :shop
  and not exists (
    select * from rental where rental.disc_id = disc.disc_id and returned_on is null
  )
order by disc_id
