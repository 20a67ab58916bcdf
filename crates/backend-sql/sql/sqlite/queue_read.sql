-- Reads one queue's settings.
-- ?1 key of the queue: integer
-- Returns: as queue_settings.sql.
-- index: queue, limit_group
select
  name, paused, retention, id_memory_ms,
  (select json_group_object(limit_group, max) from limit_group
    where limit_group.queue = queue.queue) as limits
from queue
where queue = ?1
