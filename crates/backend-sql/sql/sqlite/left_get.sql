-- Reads what is remembered of a task that has left.
-- ?1 name of the queue: text
-- ?2 id: text
-- ?3 now: integer, ms
-- Returns: its last commit and its last state, or no row.
-- Clauses: LH-ENQ-9, LH-READ-1, LH-GEN-7
-- index: queue, remembered
select shown, decision, shown_by, state from remembered
where id = ?2
  and queue = (select queue.queue from queue where queue.name = ?1) -- guard LH-GEN-7
  and until > ?3 -- guard LH-ENQ-9
