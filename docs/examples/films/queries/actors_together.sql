-- rqps: weight = 5
-- rqps: param actor int = random(0, 199)
select other.actor_id, count(*) as films
from film_actor mine join film_actor other on other.film_id = mine.film_id
where mine.actor_id = :actor and other.actor_id <> :actor
group by other.actor_id
order by films desc, other.actor_id
limit 10
