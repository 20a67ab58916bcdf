-- Sweeps the slots of a limit key that have ended. They do not come back, whatever the
-- clock says later. The plus keeps the search within the key's own slots.
-- ?1 key of the queue: integer
-- ?2 limit group: text
-- ?3 limit key: text
-- ?4 now: integer, ms
-- Clauses: LH-LIMIT-3, LH-RENEW-8
-- index: slot
delete from slot
where queue = ?1 and limit_group = ?2 and limit_key = ?3
  and +until <= ?4 -- guard LH-LIMIT-3
