-- Writes an operator's new values for a task that stays in its state, if the guard holds.
-- ?1 seq: integer
-- ?2 fence shown: integer
-- ?3 states that admit the change: JSON array of text
-- ?4 new fence: integer
-- ?5 decision id: blob of 16 bytes
-- ?6 role: text
-- ?7 due: integer, ms
-- ?8 rank: integer, 9 - priority
-- ?9 payload: blob, or null to leave it
-- ?10 terms: text, JSON, or null to leave them
-- ?11 format of the new terms: integer
-- Returns: one row when it was applied.
-- Clauses: LH-COMMIT-1, LH-COMMIT-2, LH-OPER-1, LH-OPER-2, LH-OPER-5, LH-LATE-1
-- index: integer primary key
update task set
  fence = ?4, shown = ?2, decision = ?5, shown_by = ?6, parked = 0,
  run = null, -- guard LH-LATE-1
  due = ?7, rank = ?8, payload = coalesce(?9, payload),
  format = iif(?10 is null, format, ?11), terms = coalesce(?10, terms)
where seq = ?1
  and fence = ?2 -- guard LH-OPER-1
  and state in (select value from json_each(?3)) -- guard LH-OPER-5
returning seq
