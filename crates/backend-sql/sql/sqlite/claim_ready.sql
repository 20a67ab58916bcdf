-- Finds ready tasks in the order of service: from each level at most as many as are asked
-- for, so that neither what is not yet due nor a lower level is walked through. Parked tasks
-- are left out so that what stands behind a full key is walked over once; that is about cost
-- (LH-CLAIM-12), which tests/limits.rs proves.
-- ?1 key of the queue: integer
-- ?2 now: integer, ms
-- ?3 newest format that this build reads: integer
-- ?4 most rows: integer
-- Returns: seq, size of the payload, limit group and key; best first.
-- Clauses: LH-CLAIM-1, LH-CLAIM-3, LH-CLAIM-11, LH-GEN-7
-- index: task_claim
with level (rank) as (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))
select task.seq, length(task.payload) as bytes, task.limit_group, task.limit_key
from level
cross join task on task.seq in (
  select ready.seq from task as ready
  where ready.rank = level.rank
    and ready.queue = ?1 -- guard LH-GEN-7
    and ready.parked = 0
    and ready.state = 'waiting' -- guard LH-CLAIM-1
    and ready.ready <= ?2 -- guard LH-CLAIM-1
    and ready.format <= ?3 -- guard LH-CLAIM-11
  order by ready.ready, ready.seq
  limit ?4)
order by task.rank, task.ready, task.seq -- guard LH-CLAIM-3
limit ?4
