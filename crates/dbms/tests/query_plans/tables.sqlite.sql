CREATE TABLE sbtest1 (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))
insert into sbtest1 with recursive s(i) as (select 1 union all select i+1 from s where i<20000) select i, (i*7919)%20000+1, printf('%0119d', i*31), 'pad' from s
CREATE INDEX k_1 ON sbtest1(k)
CREATE TABLE sbtest2 (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))
insert into sbtest2 with recursive s(i) as (select 1 union all select i+1 from s where i<20000) select i, (i*7919)%20000+1, printf('%0119d', i*31), 'pad' from s
CREATE INDEX k_2 ON sbtest2(k)
analyze
