-- Has every limit key of a group looked at by the next claim.
-- ?1 key of the queue: integer
-- ?2 limit group: text
-- Clauses: LH-LIMIT-6
-- index: limit_key
update limit_key set wake_at = 0 where queue = ?1 and limit_group = ?2
