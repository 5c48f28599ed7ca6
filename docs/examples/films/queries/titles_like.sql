-- rqps: weight = 20
-- rqps: param pattern text from "select concat(word, '%') from word"
select film_id, title from film where title like :pattern order by title
