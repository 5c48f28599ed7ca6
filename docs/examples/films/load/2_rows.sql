-- Rows are made from numbers, so that every DBMS has the same. Products with primes scatter them.
insert into number
select a.word_id + 10 * b.word_id + 100 * c.word_id + 1000 * d.word_id
from word a, word b, word c, word d
where a.word_id < 10 and b.word_id < 10 and c.word_id < 10 and d.word_id < 20;

insert into city
select n, concat('City ', n), concat('Country ', n % 40) from number where n < 300;

insert into shop select n, n * 37 from number where n < 4;

insert into clerk select n, n % 4, concat('Clerk ', n) from number where n < 12;

insert into customer
select n, n % 4, a.word, b.word, concat(a.word, '.', b.word, n, '@mail.example'),
  n * 17 % 300, case when n % 20 = 0 then 0 else 1 end
from number join word a on a.word_id = n * 7 % 40 join word b on b.word_id = n * 13 % 37
where n < 2000;

insert into category select word_id, word from word where word_id < 16;

insert into film
select n, concat(a.word, ' ', b.word, ' ', n),
  concat('A ', b.word, ' tale of a ', c.word, ' ', a.word, ' and a ', b.word, ' ', c.word),
  1980 + n * 31 % 45, n * 11 % 16, 3 + n % 5, 0.99 + n % 4, 60 + n * 53 % 120,
  case n * 19 % 5 when 0 then 'G' when 1 then 'PG' when 2 then 'PG-13' when 3 then 'R' else 'NC-17' end
from number
join word a on a.word_id = n * 3 % 40
join word b on b.word_id = n * 23 % 39
join word c on c.word_id = n * 29 % 37
where n < 1000;

insert into actor
select n, a.word, b.word
from number join word a on a.word_id = n * 9 % 40 join word b on b.word_id = n * 7 % 39
where n < 200;

insert into film_actor
select distinct (film_id * 7 + k.word_id * 31) % 200, film_id
from film join word k on k.word_id < 3 + film_id % 6;

insert into disc select n, n * 89 % 950, n % 4 from number where n < 5000;

insert into rental
select n, n * 7919 % 5000, n * 613 % 2000, n % 12,
  cast(concat('2025-', right(concat('0', 1 + n * 7 % 12), 2), '-', right(concat('0', 1 + n * 11 % 20), 2)) as date),
  case when n % 50 = 0 then null else
    cast(concat('2025-', right(concat('0', 1 + n * 7 % 12), 2), '-', right(concat('0', 4 + n * 11 % 20), 2)) as date)
  end
from number;

insert into payment
select rental_id, rental_id, rental.customer_id, clerk_id, price, rented_on
from rental join disc on disc.disc_id = rental.disc_id join film on film.film_id = disc.film_id;
