-- Reads tasks as a write is about to find them, without what it does not look at.
-- ?1 key of the queue: integer
-- ?2 ids: JSON array of text
-- Returns: the tasks' columns, in no order; payload, note and result are left out.
-- Clauses: LH-GEN-7
-- index: task_id
select
  seq, id, kind, format, terms, rank, state, enqueued_at, due, held_until, fence, born, run,
  shown, decision, shown_by, until, holder, attempt, failures, rescues, takeovers, limit_group,
  limit_key, unique_key, finished_at, null as note, null as result, x'' as payload
from task
where id in (select value from json_each(?2))
  and queue = ?1 -- guard LH-GEN-7
