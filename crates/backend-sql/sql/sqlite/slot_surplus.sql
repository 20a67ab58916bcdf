-- Finds slots that no lease and no held until explains, among those that end next. One that
-- stands further back is not renewed, so it comes to the front, or ends by itself.
-- ?1 key of the queue: integer
-- ?2 now: integer, ms
-- ?3 how many slots to look at: integer
-- Returns: group, key, id and fence of each.
-- Clauses: LH-LAPSE-8, LH-LIMIT-3, LH-LIMIT-7
-- index: slot_until, task_id
select limit_group, limit_key, id, fence
from (
  select limit_group, limit_key, id, fence, until from slot
  where queue = ?1 and until > ?2
  order by until limit ?3) as standing
where true
  and not exists (select 1 from task where task.queue = ?1 and task.id = standing.id and task.run = standing.fence) -- guard LH-LIMIT-3
  and not exists (select 1 from task where task.queue = ?1 and task.id = standing.id and task.held_until >= standing.until) -- guard LH-LIMIT-7
