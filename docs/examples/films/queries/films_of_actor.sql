-- rqps: weight = 20
-- rqps: param actor int = random(0, 199)
select film.film_id, title
from film_actor join film on film.film_id = film_actor.film_id
where actor_id = :actor
order by title
