-- Reads what is remembered of a task that has left, as a write is about to find it.
-- ?1 key of the queue: integer
-- ?2 id: text
-- ?3 now: integer, ms
-- Returns: its last commit and its last state, or no row.
-- Clauses: LH-ENQ-9, LH-COMMIT-8, LH-GEN-7
-- index: remembered
select shown, decision, shown_by, state from remembered
where id = ?2
  and queue = ?1 -- guard LH-GEN-7
  and until > ?3 -- guard LH-COMMIT-8
