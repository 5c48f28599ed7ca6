create index customer_email on customer (email);
create index customer_city on customer (city_id);
create index film_title on film (title);
create index film_category on film (category_id);
create index film_actor_film on film_actor (film_id);
create index disc_film on disc (film_id, shop_id);
create index rental_customer on rental (customer_id, rented_on);
create index rental_disc on rental (disc_id);
create index payment_customer on payment (customer_id);
create index payment_clerk_day on payment (clerk_id, paid_on);

-- A draft of the view, for tutorial-own-sql.md: whoever has `search_path = 'draft, public'` uses it.
create schema draft;
create view draft.takings as
select shop_id, sum(amount) as amount, count(*) as payments
from payment join clerk on clerk.clerk_id = payment.clerk_id
where amount > 1
group by shop_id;
