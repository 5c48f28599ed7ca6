\set id random(1, :rows)
SELECT c FROM sbtest1 WHERE id = :id;
