-- Forgets claims that are old enough and hold nothing any more.
-- ?1 key of the queue: integer
-- ?2 recorded at this instant or before: integer, ms
-- ?3 now: integer, ms
-- ?4 most rows: integer
-- Clauses: LH-CLAIM-9
-- index: claim, claim_at, task_lease
delete from claim
where queue = ?1 and claimer in (
  select old.claimer from claim as old
  where old.queue = ?1
    and old.at <= ?2 -- guard LH-CLAIM-9
    and not exists (select 1 from task indexed by task_lease where task.queue = ?1 and task.fence = old.fence and task.until > ?3) -- guard LH-CLAIM-9
  limit ?4)
