-- rqps: param day date from "select distinct rented_on from rental"
select rental_id, email, title
from rental
join customer on customer.customer_id = rental.customer_id
join disc on disc.disc_id = rental.disc_id
join film on film.film_id = disc.film_id
where returned_on is null and rented_on < :day
order by rental_id
