-- Finds finished tasks whose retention and held until have passed.
-- ?1 key of the queue: integer
-- ?2 now: integer, ms
-- ?3 most rows: integer
-- Returns: seq, the longest due first.
-- Clauses: LH-PURGE-1, LH-GEN-7
-- index: task_expires
select seq from task
where expires is not null
  and queue = ?1 -- guard LH-GEN-7
  and expires <= ?2 -- guard LH-PURGE-1
order by expires
limit ?3
