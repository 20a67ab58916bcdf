-- Changes a queue's settings; a null leaves a part as it is.
-- ?1 key of the queue: integer
-- ?2 paused: 0, 1 or null
-- ?3 retention: text, JSON
-- ?4 id memory: integer, ms, or null
-- Clauses: LH-CTL-1, LH-GEN-7
-- index: queue
update queue set
  paused = coalesce(?2, paused),
  retention = ?3,
  id_memory_ms = coalesce(?4, id_memory_ms)
where queue = ?1 -- guard LH-GEN-7
