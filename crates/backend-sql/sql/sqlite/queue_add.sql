-- Makes a queue that has just been seen to be missing.
-- ?1 name: text
-- ?2 retention: text, JSON
-- ?3 id memory: integer, ms
-- Returns: its key.
-- index: none
insert into queue (name, retention, id_memory_ms) values (?1, ?2, ?3) returning queue
