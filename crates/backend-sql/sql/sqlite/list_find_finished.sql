-- Finds a page of a list of finished tasks. The numbers are those of list_find, whose ?6 is of
-- no use here.
-- ?1 name of the queue: text
-- ?2 after this seq: integer
-- ?3 up to this seq: integer
-- ?4 most rows: integer
-- ?5 status: text or null
-- ?7 kind: text or null
-- ?8 state, of a dead letter by its reason: text or null
-- ?9 finished from: integer, ms, or null
-- ?10 finished before: integer, ms, or null
-- Returns: seq and size, in the order of enqueue.
-- Clauses: LH-READ-4, LH-DEAD-4, LH-GEN-7
-- index: queue, task_finished
select
  seq,
  length(payload) + coalesce(length(result), 0) + coalesce(length(note), 0) as bytes
from task indexed by task_finished
where finished_at is not null
  and queue = (select queue.queue from queue where queue.name = ?1) -- guard LH-GEN-7
  and seq > ?2 -- guard LH-DEAD-4
  and seq <= ?3
  and (?5 is null or ?5 = iif(substr(state, 1, 5) = 'dead_', 'dead', state)) -- guard LH-DEAD-4
  and (?7 is null or kind = ?7) -- guard LH-DEAD-4
  and (?8 is null or state = ?8) -- guard LH-DEAD-4
  and (?9 is null or finished_at >= ?9) -- guard LH-DEAD-4
  and (?10 is null or finished_at < ?10) -- guard LH-DEAD-4
order by seq
limit ?4
