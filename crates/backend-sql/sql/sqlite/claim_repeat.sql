-- Reads the leases of a recorded claim that still go on, each with its slot, if any. No other
-- call gave this fence.
-- ?1 key of the queue: integer
-- ?2 fence that the claim gave: integer
-- ?3 now: integer, ms
-- Returns: the tasks' columns, in the order of service.
-- Clauses: LH-CLAIM-9
-- index: task_lease, slot
select
  seq, id, kind, format, terms, rank, state, enqueued_at, due, held_until, fence, born, run,
  shown, decision, shown_by, until, holder, attempt, failures, rescues, takeovers, limit_group,
  limit_key, unique_key, finished_at, note, result, payload
from task indexed by task_lease
where queue = ?1 and until is not null
  and fence = ?2 -- guard LH-CLAIM-9
  and until > ?3 -- guard LH-CLAIM-9
  and (limit_group is null or run is not ?2 or exists (select 1 from slot where slot.queue = ?1 and slot.limit_group = task.limit_group and slot.limit_key = task.limit_key and slot.id = task.id and slot.fence = ?2)) -- guard LH-CLAIM-9
order by rank, ready, seq
