-- Finds ready tasks of some kinds in the order of service, as claim_ready.sql does.
-- ?1 key of the queue: integer
-- ?2 now: integer, ms
-- ?3 newest format that this build reads: integer
-- ?4 most rows: integer
-- ?5 kinds, each once: JSON array of text
-- Returns: seq, size of the payload, limit group and key; best first.
-- Clauses: LH-CLAIM-1, LH-CLAIM-3, LH-CLAIM-10, LH-CLAIM-11, LH-GEN-7
-- index: task_claim_kind
with level (rank) as (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))
select task.seq, length(task.payload) as bytes, task.limit_group, task.limit_key
from level
cross join json_each(?5) as wanted
cross join task on task.seq in (
  select ready.seq from task as ready
  where ready.rank = level.rank
    and ready.queue = ?1 -- guard LH-GEN-7
    and ready.kind = wanted.value -- guard LH-CLAIM-10
    and ready.parked = 0
    and ready.state = 'waiting' -- guard LH-CLAIM-1
    and ready.ready <= ?2 -- guard LH-CLAIM-1
    and ready.format <= ?3 -- guard LH-CLAIM-11
  order by ready.ready, ready.seq
  limit ?4)
order by task.rank, task.ready, task.seq -- guard LH-CLAIM-3
limit ?4
