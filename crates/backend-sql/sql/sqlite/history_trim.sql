-- Drops old records, but never the first.
-- ?1 seq of the task: integer
-- ?2 number of the newest one to drop: integer
-- Clauses: LH-RETRY-5
-- index: history
delete from history
where task = ?1
  and n > 1 -- guard LH-RETRY-5
  and n <= ?2 -- guard LH-RETRY-5
