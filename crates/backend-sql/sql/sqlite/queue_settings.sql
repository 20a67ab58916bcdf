-- Reads a page of queues with their settings.
-- ?1 after this name: text; the empty text is the start
-- ?2 most rows: integer
-- Returns: name, paused, retention, id memory in ms, limits as a JSON object of group and
--   number; ordered by the bytes of the name.
-- Clauses: LH-READ-4
-- index: queue, limit_group
select
  name, paused, retention, id_memory_ms,
  (select json_group_object(limit_group, max) from limit_group
    where limit_group.queue = queue.queue) as limits
from queue
where name > ?1 -- guard LH-READ-4
order by name
limit ?2
