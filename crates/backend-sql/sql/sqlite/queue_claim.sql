-- What a claim has to know of its queue before it looks for tasks.
-- ?1 name of the queue: text
-- ?2 now: integer, ms
-- ?3 whether it is for a run and not for a rescue: 0 or 1
-- Returns: key, whether it is paused, how many records of a newer version it would otherwise
--   look at (the oldest 100 are looked at, whether they are due or not), whether a limit key is
--   to be looked at again.
-- Clauses: LH-CLAIM-7, LH-CLAIM-11, LH-OBS-1
-- index: queue, task_newer, limit_key_wake, limit_key_parked
select
  queue.queue,
  queue.paused,
  (select count(*) from (
    select task.state, task.ready, task.until from task
    where task.queue = queue.queue
      and task.format > 1 -- guard LH-OBS-1
    order by task.seq
    limit 100) as newer
    where iif(?3, newer.state = 'waiting' and newer.ready <= ?2, newer.until <= ?2) -- guard LH-OBS-1
    ) as newer,
  exists (
    select 1 from limit_key
    where limit_key.queue = queue.queue and limit_key.wake_at <= ?2)
  or exists (
    select 1 from limit_key
    where limit_key.queue = queue.queue and limit_key.parked_at > ?2) as wake
from queue where queue.name = ?1
