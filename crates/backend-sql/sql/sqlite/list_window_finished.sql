-- How far one page of a list looks, among finished tasks.
-- ?1 name of the queue: text
-- ?2 after this seq: integer
-- ?3 most tasks to look at: integer
-- Returns: one row: the last seq looked at, or null; how many were looked at.
-- Clauses: LH-READ-4
-- index: queue, task_finished
select max(seq) as last, count(*) as seen
from (
  select seq from task indexed by task_finished
  where queue = (select queue.queue from queue where queue.name = ?1) and seq > ?2
    and finished_at is not null
  order by seq limit ?3)
