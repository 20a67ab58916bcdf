-- How full a limit key is, once it is swept.
-- ?1 key of the queue: integer
-- ?2 limit group: text
-- ?3 limit key: text
-- Returns: the group's number, 0 when it has none; how many slots are taken.
-- Clauses: LH-LIMIT-1
-- index: limit_group, slot
select
  coalesce((select max from limit_group where queue = ?1 and limit_group = ?2), 0) as max,
  count(*) as taken
from slot
where queue = ?1
  and limit_group = ?2 -- guard LH-LIMIT-1
  and limit_key = ?3 -- guard LH-LIMIT-1
