-- Remembers finished tasks that are about to leave.
-- ?1 seqs: JSON array of integers
-- ?2 until when: integer, ms
-- Clauses: LH-ENQ-9
-- index: integer primary key
insert into remembered (queue, id, shown, decision, shown_by, state, until)
select queue, id, shown, decision, shown_by, state, ?2 from task
where seq in (select value from json_each(?1))
on conflict do update set
  shown = excluded.shown, decision = excluded.decision, shown_by = excluded.shown_by,
  state = excluded.state, until = excluded.until
