-- Adds to a counter.
-- ?1 key of the queue: integer
-- ?2 name: text
-- ?3 how many: integer
-- Clauses: LH-OBS-1
-- index: none
insert into event (queue, name, n) values (?1, ?2, ?3)
  on conflict do update set n = n + excluded.n
