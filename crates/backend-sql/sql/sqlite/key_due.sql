-- Finds limit keys that a claim has to look at: those whose time has come, and those whose
-- parked tasks may not all be ready, because the clock has gone back since they were parked.
-- ?1 key of the queue: integer
-- ?2 now: integer, ms
-- ?3 most rows: integer
-- Returns: group and key; whether the clock is behind.
-- Clauses: LH-LIMIT-6, LH-TIME-4
-- index: limit_key_wake, limit_key_parked
select limit_group, limit_key, parked_at > ?2 as behind from limit_key indexed by limit_key_wake
where queue = ?1 and wake_at <= ?2
union all
select limit_group, limit_key, 1 from limit_key indexed by limit_key_parked
where queue = ?1 and parked_at > ?2 and +wake_at > ?2
limit ?3
