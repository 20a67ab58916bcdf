-- Sets the number of a limit group.
-- ?1 key of the queue: integer
-- ?2 group: text
-- ?3 number: integer
-- Clauses: LH-CTL-1
-- index: none
insert into limit_group (queue, limit_group, max) values (?1, ?2, ?3)
  on conflict do update set max = excluded.max
