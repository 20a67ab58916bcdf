-- Draws fences: greater than any before, and than any handed out before a loss, as far as
-- the clock goes forward.
-- ?1 now: integer, microseconds
-- ?2 how many: integer, at least 1
-- Returns: the last of them; they are consecutive.
-- Clauses: LH-FENCE-1, LH-FENCE-6, LH-FENCE-7
-- index: fence
update fence set value = max(value + 1, ?1) + ?2 - 1 where one = 1 returning value
