select film.film_id, title
from film
where not exists (
  select * from disc join rental on rental.disc_id = disc.disc_id where disc.film_id = film.film_id
)
order by film.film_id
