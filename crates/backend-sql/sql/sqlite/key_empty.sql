-- Forgets a limit key that has no parked tasks any more.
-- ?1 key of the queue: integer
-- ?2 limit group: text
-- ?3 limit key: text
-- Returns: one row when it was forgotten.
-- Clauses: LH-LIMIT-6
-- index: limit_key, task_parked
delete from limit_key
where queue = ?1 and limit_group = ?2 and limit_key = ?3
  and not exists (select 1 from task where task.queue = ?1 and task.limit_group = ?2 and task.limit_key = ?3 and task.parked = 1) -- guard LH-LIMIT-6
returning 1
