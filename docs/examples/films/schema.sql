-- A chain of shops that rent out films. Schema and data are made up for rqps.
create table word (word_id integer not null primary key, word varchar(20) not null);

create table number (n integer not null primary key);

create table city (
  city_id integer not null primary key,
  name varchar(40) not null,
  country varchar(40) not null
);

create table shop (shop_id integer not null primary key, city_id integer not null);

create table clerk (
  clerk_id integer not null primary key,
  shop_id integer not null,
  name varchar(40) not null
);

create table customer (
  customer_id integer not null primary key,
  shop_id integer not null,
  first_name varchar(40) not null,
  last_name varchar(40) not null,
  email varchar(80) not null,
  city_id integer not null,
  is_active integer not null
);

create table category (category_id integer not null primary key, name varchar(20) not null);

create table film (
  film_id integer not null primary key,
  title varchar(80) not null,
  description varchar(400) not null,
  release_year integer not null,
  category_id integer not null,
  days integer not null,
  price decimal(4, 2) not null,
  minutes integer not null,
  rating varchar(5) not null
);

create table actor (
  actor_id integer not null primary key,
  first_name varchar(40) not null,
  last_name varchar(40) not null
);

create table film_actor (
  actor_id integer not null,
  film_id integer not null,
  primary key (actor_id, film_id)
);

create table disc (
  disc_id integer not null primary key,
  film_id integer not null,
  shop_id integer not null
);

create table rental (
  rental_id integer not null primary key,
  disc_id integer not null,
  customer_id integer not null,
  clerk_id integer not null,
  rented_on date not null,
  returned_on date
);

create table payment (
  payment_id integer not null primary key,
  rental_id integer not null,
  customer_id integer not null,
  clerk_id integer not null,
  amount decimal(5, 2) not null,
  paid_on date not null
);

create view takings as
select shop_id, sum(amount) as amount, count(*) as payments
from payment join clerk on clerk.clerk_id = payment.clerk_id
group by shop_id;
