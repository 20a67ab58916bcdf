-- Brings back parked tasks of a limit key, whichever come first. The order of service is left
-- to the claim, which finds them among the others.
-- ?1 key of the queue: integer
-- ?2 limit group: text
-- ?3 limit key: text
-- ?4 most rows: integer
-- Clauses: LH-CLAIM-3, LH-CLAIM-4, LH-TIME-4
-- index: integer primary key, task_parked
update task set parked = 0
where seq in (
  select parked.seq from task as parked
  where parked.queue = ?1 and parked.limit_group = ?2 and parked.limit_key = ?3
    and parked.parked = 1
  limit ?4)
