-- Records a claim that granted something.
-- ?1 key of the queue: integer
-- ?2 claimer: blob of 16 bytes
-- ?3 seq: integer
-- ?4 fence that it gave: integer
-- ?5 now: integer, ms
-- Clauses: LH-CLAIM-9
-- index: none
insert into claim (queue, claimer, seq, fence, at) values (?1, ?2, ?3, ?4, ?5)
  on conflict do update set seq = excluded.seq, fence = excluded.fence, at = excluded.at
