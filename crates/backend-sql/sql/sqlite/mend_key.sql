-- Looks at the next limit key in their order, for what disagrees with its tasks and slots.
-- ?1 key of the queue: integer
-- ?2 after this limit group: text
-- ?3 and this limit key: text
-- Returns: group and key; when the key is to be looked at, or null when it has no entry;
--   whether it has parked tasks; the earliest end of a slot, or null; how many slots are left.
--   No row after the last key.
-- Clauses: LH-LAPSE-8
-- index: limit_key, task_parked, slot, limit_group
with next as (
  -- Two arms each: with one `>` for the pair, the index would be walked from the first entry
  -- of the group, through all parked tasks of the keys before.
  select limit_group, limit_key from (
    select limit_group, limit_key from task
    where queue = ?1 and parked = 1 and limit_group = ?2 and limit_key > ?3
    order by limit_key limit 1)
  union all
  select limit_group, limit_key from (
    select limit_group, limit_key from task
    where queue = ?1 and parked = 1 and limit_group > ?2
    order by limit_group, limit_key limit 1)
  union all
  select limit_group, limit_key from (
    select limit_group, limit_key from limit_key
    where queue = ?1 and limit_group = ?2 and limit_key > ?3
    order by limit_key limit 1)
  union all
  select limit_group, limit_key from (
    select limit_group, limit_key from limit_key
    where queue = ?1 and limit_group > ?2
    order by limit_group, limit_key limit 1)
  order by 1, 2 limit 1)
select
  next.limit_group,
  next.limit_key,
  (select noted.wake_at from limit_key as noted
    where noted.queue = ?1 and noted.limit_group = next.limit_group
      and noted.limit_key = next.limit_key) as wake_at,
  exists (select 1 from task
    where task.queue = ?1 and task.limit_group = next.limit_group
      and task.limit_key = next.limit_key and task.parked = 1) as has_parked,
  (select min(+until) from slot
    where slot.queue = ?1 and slot.limit_group = next.limit_group
      and slot.limit_key = next.limit_key) as first_end,
  coalesce((select max from limit_group
    where limit_group.queue = ?1 and limit_group.limit_group = next.limit_group), 0)
  - (select count(*) from slot
    where slot.queue = ?1 and slot.limit_group = next.limit_group
      and slot.limit_key = next.limit_key) as room
from next
