-- Grants leases on tasks that this step has found to be lapsed; the run stays.
-- ?1 seqs: JSON array of integers
-- ?2 fence: integer
-- ?3 end of the leases: integer, ms
-- ?4 holder: text
-- Returns: the tasks' columns after the grant, in no order.
-- Clauses: LH-LAPSE-2, LH-LAPSE-9
-- index: integer primary key
update task set
  takeovers = takeovers + (state = 'leased_rescue'), -- guard LH-LAPSE-9
  state = 'leased_rescue', fence = ?2, until = ?3, holder = ?4
where seq in (select value from json_each(?1))
returning
  seq, id, kind, format, terms, rank, state, enqueued_at, due, held_until, fence, born, run,
  shown, decision, shown_by, until, holder, attempt, failures, rescues, takeovers, limit_group,
  limit_key, unique_key, finished_at, note, result, payload
