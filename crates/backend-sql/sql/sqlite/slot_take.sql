-- Takes a slot for each task that a claim has just granted and that has a limit key.
-- ?1 seqs: JSON array of integers
-- Clauses: LH-LIMIT-2, LH-LIMIT-3
-- index: integer primary key
insert into slot (queue, limit_group, limit_key, id, fence, until)
select queue, limit_group, limit_key, id, fence, until from task
where seq in (select value from json_each(?1)) and limit_group is not null
