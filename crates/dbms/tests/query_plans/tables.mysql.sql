create table d (n int)
insert into d values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)
CREATE TABLE sbtest1 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE = innodb
insert into sbtest1 select i, (i*7919)%20000+1, lpad(i*31, 119, '1234567890'), 'pad' from (select @i:=@i+1 as i from d d1, d d2, d d3, d d4, (select 1 union select 2) x, (select @i:=0) y) s
CREATE INDEX k_1 ON sbtest1(k)
CREATE TABLE sbtest2 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE = innodb
insert into sbtest2 select i, (i*7919)%20000+1, lpad(i*31, 119, '1234567890'), 'pad' from (select @i:=@i+1 as i from d d1, d d2, d d3, d d4, (select 1 union select 2) x, (select @i:=0) y) s
CREATE INDEX k_2 ON sbtest2(k)
analyze table sbtest1
analyze table sbtest2
