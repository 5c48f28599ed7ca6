-- rqps: param category int = random(0, 15)
select film.film_id, title, count(*) as rentals
from rental
join disc on disc.disc_id = rental.disc_id
join film on film.film_id = disc.film_id
where category_id = :category
group by film.film_id, title
order by rentals desc, film.film_id
limit 10
