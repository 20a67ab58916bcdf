-- Forgets ids whose time has passed, the earliest first.
-- ?1 key of the queue: integer
-- ?2 now: integer, ms
-- ?3 most rows, but for those that end with the last of them: integer
-- Clauses: LH-ENQ-9
-- index: remembered_until
with ended as (
  select until from remembered
  where queue = ?1
    and until <= ?2 -- guard LH-ENQ-9
  order by until limit ?3)
delete from remembered
where queue = ?1
  and until <= (select max(until) from ended) -- guard LH-ENQ-9
