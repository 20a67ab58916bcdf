-- Has the limit keys of just granted tasks looked at when these leases end, if not before.
-- ?1 seqs: JSON array of integers
-- ?2 end of the leases: integer, ms
-- Clauses: LH-LIMIT-6
-- index: limit_key, integer primary key
update limit_key set wake_at = ?2
from (
  select distinct queue, limit_group, limit_key from task
  where seq in (select value from json_each(?1)) and limit_group is not null) as granted
where limit_key.queue = granted.queue
  and limit_key.limit_group = granted.limit_group
  and limit_key.limit_key = granted.limit_key
  and limit_key.wake_at > ?2 -- guard LH-LIMIT-6
