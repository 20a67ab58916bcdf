-- Sets tasks aside that a claim has met behind a full limit key.
-- ?1 seqs: JSON array of integers
-- Clauses: LH-LIMIT-2, LH-CLAIM-12
-- index: integer primary key
update task set parked = 1 where seq in (select value from json_each(?1))
