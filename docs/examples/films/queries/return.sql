-- rqps: weight = 20, transaction = rollback
-- rqps: param rental int = random(0, 19999)
update rental set returned_on = '2026-01-03' where rental_id = :rental
