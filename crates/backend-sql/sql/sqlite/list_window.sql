-- How far one page of a list looks.
-- ?1 name of the queue: text
-- ?2 after this seq: integer
-- ?3 most tasks to look at: integer
-- Returns: one row: the last seq looked at, or null; how many were looked at.
-- Clauses: LH-READ-4
-- index: queue, task_order
select max(seq) as last, count(*) as seen
from (
  select seq from task indexed by task_order
  where queue = (select queue.queue from queue where queue.name = ?1) and seq > ?2
  order by seq limit ?3)
