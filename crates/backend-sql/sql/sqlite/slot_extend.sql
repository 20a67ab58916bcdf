-- Extends a slot along with its lease.
-- ?1 key of the queue: integer
-- ?2 limit group: text
-- ?3 limit key: text
-- ?4 id: text
-- ?5 fence: integer
-- ?6 end of the lease: integer, ms
-- Clauses: LH-RENEW-3
-- index: slot
update slot set until = ?6
where queue = ?1 and limit_group = ?2 and limit_key = ?3 and id = ?4 and fence = ?5
