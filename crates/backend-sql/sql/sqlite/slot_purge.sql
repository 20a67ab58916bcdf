-- Sweeps a queue's slots that have ended, the earliest first.
-- ?1 key of the queue: integer
-- ?2 now: integer, ms
-- ?3 most rows, but for those that end with the last of them: integer
-- Returns: group and key of each.
-- Clauses: LH-LIMIT-3, LH-RENEW-8
-- index: slot_until
with ended as (
  select until from slot
  where queue = ?1
    and until <= ?2 -- guard LH-LIMIT-3
  order by until limit ?3)
delete from slot
where queue = ?1
  and until <= (select max(until) from ended) -- guard LH-LIMIT-3
returning limit_group, limit_key
