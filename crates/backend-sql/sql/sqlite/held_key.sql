-- What the next holder of a unique key inherits.
-- ?1 key of the queue: integer
-- ?2 unique key: text
-- ?3 now: integer, ms
-- Returns: one row: the latest held until that has not passed, in ms, or null.
-- Clauses: LH-UNIQ-3
-- index: task_held
select max(held_until) as held_until from task
where queue = ?1 and unique_key = ?2 and held_until > 0 and held_until > ?3
