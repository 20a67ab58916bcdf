-- What the next holder of a unique key inherits.
-- ?1 key of the queue: integer
-- ?2 unique key: text
-- ?3 now: integer, ms
-- Returns: one row: the latest held until that has not passed, in ms, or null.
-- Clauses: LH-UNIQ-3, LH-GEN-7
-- index: task_held
select max(held_until) as held_until from task
where held_until > 0
  and queue = ?1 -- guard LH-GEN-7
  and unique_key = ?2 -- guard LH-UNIQ-3
  and held_until > ?3 -- guard LH-UNIQ-3
