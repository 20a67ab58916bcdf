-- Writes a change that takes the task somewhere, if the guard holds.
-- ?1 seq: integer
-- ?2 fence shown: integer
-- ?3 whether a late success is admitted: 0 or 1
-- ?4 states that admit the change under a current guard: JSON array of text
-- ?5 whether the unique key has to be free: 0 or 1
-- ?6 new fence: integer
-- ?7 decision id: blob of 16 bytes
-- ?8 role: text
-- ?9 whether the run keeps its right to a late success: 0 or 1
-- ?10 state: text
-- ?11 due: integer, ms
-- ?12 held until: integer, ms, 0 for none
-- ?13 failures: integer
-- ?14 rescues: integer
-- ?15 whether the note is dropped: 0 or 1
-- ?16 result: blob or null
-- ?17 finished at: integer, ms, or null
-- ?18 expires: integer, ms, or null
-- Returns: one row when it was applied.
-- Clauses: LH-COMMIT-1, LH-COMMIT-2, LH-COMMIT-10, LH-LATE-1, LH-LATE-2, LH-LATE-5, LH-UNIQ-4, LH-RENEW-9
-- index: integer primary key, task_unique
update task set
  fence = ?6, shown = ?2, decision = ?7, shown_by = ?8,
  run = iif(?9, run, null), -- guard LH-LATE-5
  state = ?10, due = ?11, held_until = ?12, until = null, holder = null, parked = 0,
  failures = ?13, rescues = ?14, takeovers = 0,
  note = iif(?15, null, note), -- guard LH-RENEW-9
  result = ?16, finished_at = ?17, expires = ?18
where seq = ?1
  and (fence = ?2 or run = ?2) -- guard LH-COMMIT-1
  and (fence = ?2 or ?3) -- guard LH-LATE-2
  and (fence <> ?2 or state in (select value from json_each(?4))) -- guard LH-COMMIT-10
  and not (?5 and exists (select 1 from task as rival where rival.queue = task.queue and rival.unique_key = task.unique_key and rival.finished_at is null)) -- guard LH-UNIQ-4
returning seq
