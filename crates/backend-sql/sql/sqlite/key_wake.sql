-- Has a limit key looked at by the next claim, if it has parked tasks.
-- ?1 key of the queue: integer
-- ?2 limit group: text
-- ?3 limit key: text
-- Clauses: LH-LIMIT-6
-- index: limit_key
update limit_key set wake_at = 0
where queue = ?1 and limit_group = ?2 and limit_key = ?3
