-- Finds lapsed leases, the earliest first.
-- ?1 key of the queue: integer
-- ?2 now: integer, ms
-- ?3 newest format that this build reads: integer
-- ?4 most rows: integer
-- ?5 kinds: JSON array of text, or null for every kind
-- Returns: seq, size of the payload, whether it was already a rescue that lapsed.
-- Clauses: LH-LAPSE-1, LH-CLAIM-10, LH-CLAIM-11, LH-GEN-7
-- index: task_lapse
select seq, length(payload) as bytes, state = 'leased_rescue' as taken_over
from task
where until is not null
  and queue = ?1 -- guard LH-GEN-7
  and until <= ?2 -- guard LH-LAPSE-1
  and format <= ?3 -- guard LH-CLAIM-11
  and (?5 is null or kind in (select value from json_each(?5))) -- guard LH-CLAIM-10
order by until, seq
limit ?4
