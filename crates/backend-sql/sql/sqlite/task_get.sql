-- Reads a task with its history.
-- ?1 name of the queue: text
-- ?2 id: text
-- Returns: the task's columns; its records as a JSON array, each an array of number, instant,
--   fence shown, attempt and cause, in no order.
-- Clauses: LH-READ-1, LH-GEN-7
-- index: queue, task_id, history
select
  seq, id, kind, format, terms, rank, state, enqueued_at, due, held_until, fence, born, run,
  shown, decision, shown_by, until, holder, attempt, failures, rescues, takeovers, limit_group,
  limit_key, unique_key, finished_at, note, result, payload,
  (select json_group_array(json_array(n, at, shown, attempt, cause)) from history
    where history.task = task.seq) as records
from task
where id = ?2
  and queue = (select queue.queue from queue where queue.name = ?1) -- guard LH-GEN-7
