-- rqps: weight = 30
-- rqps: param customer int = random(0, 1999)
select rental_id, title, rented_on, returned_on
from rental
join disc on disc.disc_id = rental.disc_id
join film on film.film_id = disc.film_id
where customer_id = :customer
order by rented_on desc, rental_id
limit 5
