CREATE TABLE sbtest1 (id SERIAL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))
insert into sbtest1 select i, (i*7919)%20000+1, lpad((i*31)::text, 119, '1234567890'), 'pad' from generate_series(1,20000) i
CREATE INDEX k_1 ON sbtest1(k)
CREATE TABLE sbtest2 (id SERIAL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))
insert into sbtest2 select i, (i*7919)%20000+1, lpad((i*31)::text, 119, '1234567890'), 'pad' from generate_series(1,20000) i
CREATE INDEX k_2 ON sbtest2(k)
vacuum analyze sbtest1
vacuum analyze sbtest2
