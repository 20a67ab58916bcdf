-- Brings back the best parked tasks of a limit key: of each kind as many as there are
-- places, so that a claim for some kinds finds all that it could have. A step for each kind.
-- What a claim has parked is ready; what mending has found parked need not be.
-- ?1 key of the queue: integer
-- ?2 limit group: text
-- ?3 limit key: text
-- ?4 now: integer, ms
-- ?5 most rows of a kind: integer
-- ?6 newest format that this build reads: integer
-- Clauses: LH-CLAIM-3, LH-CLAIM-4, LH-CLAIM-11, LH-LIMIT-6, LH-CLAIM-10
-- index: task_parked
update task set parked = 0
where seq in (
  with recursive parked_kind (kind) as (
    select min(kind) from task
      where queue = ?1 and limit_group = ?2 and limit_key = ?3 and parked = 1
    union all
    select (
      select min(task.kind) from task
      where task.queue = ?1 and task.limit_group = ?2 and task.limit_key = ?3
        and task.parked = 1 and task.kind > parked_kind.kind)
    from parked_kind where parked_kind.kind is not null)
  select woken.seq
  from parked_kind
  cross join task as woken on woken.seq in (
    select best.seq from task as best
    where best.queue = ?1 and best.limit_group = ?2 and best.limit_key = ?3
      and best.parked = 1 -- guard LH-LIMIT-6
      and best.kind = parked_kind.kind -- guard LH-CLAIM-10
      and best.ready <= ?4
      and best.format <= ?6 -- guard LH-CLAIM-11
    order by best.rank, best.ready, best.seq
    limit ?5))
