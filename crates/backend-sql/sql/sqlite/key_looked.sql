-- Notes that a limit key was looked at, and is to be again when its next slot ends. The plus
-- keeps the search within the key's own slots.
-- ?1 key of the queue: integer
-- ?2 limit group: text
-- ?3 limit key: text
-- Clauses: LH-LIMIT-6
-- index: limit_key, slot
update limit_key set wake_at = coalesce((
  select min(+until) from slot
  where queue = ?1 and limit_group = ?2 and limit_key = ?3), 9223372036854775807)
where queue = ?1 and limit_group = ?2 and limit_key = ?3
