-- Finds the unfinished task that holds a unique key, which another one wants that has finished.
-- ?1 key of the queue: integer
-- ?2 unique key: text
-- Returns: its id, or no row.
-- Clauses: LH-UNIQ-4
-- index: task_unique
select id from task
where queue = ?1 and unique_key = ?2
  and finished_at is null -- guard LH-UNIQ-4
