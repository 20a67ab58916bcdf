-- Reads the tasks of a page that was found.
-- ?1 seqs: JSON array of integers
-- Returns: as task_get.sql, in the order of enqueue.
-- Clauses: LH-READ-4
-- index: integer primary key, history
select
  seq, id, kind, format, terms, rank, state, enqueued_at, due, held_until, fence, born, run,
  shown, decision, shown_by, until, holder, attempt, failures, rescues, takeovers, limit_group,
  limit_key, unique_key, finished_at, note, result, payload,
  (select json_group_array(json_array(n, at, shown, attempt, cause)) from history
    where history.task = task.seq) as records
from task
where seq in (select value from json_each(?1)) -- guard LH-READ-4
order by seq
