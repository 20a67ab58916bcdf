-- Forgets what is still noted of the ids of finished tasks that are about to leave unremembered:
-- an ended note of an earlier task of the id would come back with a clock that goes back.
-- ?1 key of the queue: integer
-- ?2 seqs: JSON array of integers
-- Clauses: LH-ENQ-9, LH-TIME-4
-- index: remembered, integer primary key
delete from remembered
where queue = ?1
  and id in (select task.id from task where task.seq in (select value from json_each(?2))) -- guard LH-ENQ-9
