-- Finds a queue.
-- ?1 name of the queue: text
-- Returns: its key and what the steps of a commit need of its settings; no row when it is new.
-- index: queue
select queue, retention, id_memory_ms from queue where name = ?1
