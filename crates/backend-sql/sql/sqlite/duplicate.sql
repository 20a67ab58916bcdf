-- Finds out why a task was not added.
-- ?1 key of the queue: integer
-- ?2 id: text
-- ?3 unique key: text or null
-- ?4 now: integer, ms
-- Returns: one row: place (0 and 1: the id, 2: the key), id and state of what is in the way;
--   the state is null when only its memory is.
-- Clauses: LH-ENQ-2, LH-ENQ-9, LH-UNIQ-2, LH-GEN-7
-- index: task_id, remembered, task_unique
select 0 as place, id, state from task where id = ?2
  and queue = ?1 -- guard LH-GEN-7
union all
select 1, id, null from remembered where id = ?2
  and queue = ?1 -- guard LH-GEN-7
  and until > ?4 -- guard LH-ENQ-9
union all
select 2, id, state from task
  where unique_key = ?3
    and queue = ?1 -- guard LH-GEN-7
    and finished_at is null -- guard LH-UNIQ-2
order by place
limit 1
