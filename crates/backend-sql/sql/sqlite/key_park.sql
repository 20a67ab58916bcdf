-- Notes that a full limit key has parked tasks, to be looked at when its next slot ends. A
-- key without a slot is full because of its number, and wakes when that is changed. The plus
-- keeps the search within the key's own slots.
-- ?1 key of the queue: integer
-- ?2 limit group: text
-- ?3 limit key: text
-- ?4 now: integer, ms
-- Clauses: LH-LIMIT-6
-- index: slot
insert into limit_key (queue, limit_group, limit_key, wake_at, parked_at)
values (?1, ?2, ?3, coalesce((
  select min(+until) from slot
  where queue = ?1 and limit_group = ?2 and limit_key = ?3), 9223372036854775807), ?4)
on conflict do update set
  wake_at = excluded.wake_at, parked_at = max(parked_at, excluded.parked_at)
