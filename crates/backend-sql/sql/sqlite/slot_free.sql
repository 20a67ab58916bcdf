-- Frees the slot of a run whose holder has committed. The fence is no guard beside the task: a
-- run starts only once every earlier slot of its task has been swept, so that there is one.
-- ?1 key of the queue: integer
-- ?2 limit group: text
-- ?3 limit key: text
-- ?4 id: text
-- ?5 fence of the run: integer
-- Clauses: LH-LIMIT-3, LH-LIMIT-4
-- index: slot
delete from slot
where queue = ?1 and limit_group = ?2 and limit_key = ?3
  and id = ?4 -- guard LH-LIMIT-3
  and fence = ?5
