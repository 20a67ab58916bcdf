-- Removes finished tasks; their history goes along.
-- ?1 seqs: JSON array of integers
-- Clauses: LH-PURGE-1, LH-PURGE-2
-- index: integer primary key
delete from task
where seq in (select value from json_each(?1)) -- guard LH-PURGE-1
