-- Extends a slot along with its lease. The fence is no guard beside the task, as in slot_free.sql.
-- ?1 key of the queue: integer
-- ?2 limit group: text
-- ?3 limit key: text
-- ?4 id: text
-- ?5 fence: integer
-- ?6 end of the lease: integer, ms
-- Clauses: LH-RENEW-3, LH-LIMIT-3
-- index: slot
update slot set until = ?6
where queue = ?1 and limit_group = ?2 and limit_key = ?3
  and id = ?4 -- guard LH-LIMIT-3
  and fence = ?5
