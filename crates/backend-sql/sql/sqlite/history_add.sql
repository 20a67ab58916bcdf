-- Adds the newest record to a task's history.
-- ?1 seq of the task: integer
-- ?2 now: integer, ms
-- ?3 fence shown: integer
-- ?4 attempt: integer
-- ?5 cause: text, JSON
-- Returns: the record's number, from 1.
-- Clauses: LH-RETRY-5, LH-OPER-10
-- index: history
insert into history (task, n, at, shown, attempt, cause)
values (?1, coalesce((select max(n) from history where task = ?1), 0) + 1, ?2, ?3, ?4, ?5)
returning n
