-- Finds a page of a list that asks for nothing which only finished tasks have.
-- ?1 name of the queue: text
-- ?2 after this seq: integer
-- ?3 up to this seq: integer
-- ?4 most rows: integer
-- ?5 status of an unfinished task: text or null
-- ?6 now: integer, ms
-- ?7 kind: text or null
-- Returns: seq and size, in the order of enqueue.
-- Clauses: LH-READ-4, LH-DEAD-4, LH-GEN-7
-- index: queue, task_order
select
  seq,
  length(payload) + coalesce(length(result), 0) + coalesce(length(note), 0) as bytes
from task indexed by task_order
where seq <= ?3
  and queue = (select queue.queue from queue where queue.name = ?1) -- guard LH-GEN-7
  and seq > ?2 -- guard LH-READ-4
  and (?5 is null or ?5 = case when state = 'waiting' then iif(ready <= ?6, 'ready', 'scheduled') when until <= ?6 then 'lapsed' when until is not null then 'leased' end) -- guard LH-DEAD-4
  and (?7 is null or kind = ?7) -- guard LH-DEAD-4
order by seq
limit ?4
