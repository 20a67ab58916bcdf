-- Grants leases on tasks that this step has found to be ready.
-- ?1 seqs: JSON array of integers
-- ?2 fence: integer
-- ?3 end of the leases: integer, ms
-- ?4 holder: text
-- Returns: the tasks' columns after the grant, in no order.
-- Clauses: LH-CLAIM-2, LH-CLAIM-5
-- index: integer primary key
update task set
  state = 'leased_run', fence = ?2, run = ?2, until = ?3, holder = ?4, attempt = attempt + 1
where seq in (select value from json_each(?1))
returning
  seq, id, kind, format, terms, rank, state, enqueued_at, due, held_until, fence, born, run,
  shown, decision, shown_by, until, holder, attempt, failures, rescues, takeovers, limit_group,
  limit_key, unique_key, finished_at, note, result, payload
