-- Finds another unfinished task that holds a unique key.
-- ?1 key of the queue: integer
-- ?2 unique key: text
-- ?3 id of the task that wants it: text
-- Returns: its id, or no row.
-- Clauses: LH-UNIQ-4
-- index: task_unique
select id from task
where queue = ?1 and unique_key = ?2 and finished_at is null and id <> ?3
