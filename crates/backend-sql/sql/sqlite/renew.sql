-- Extends a lease that is current and has not lapsed.
-- ?1 key of the queue: integer
-- ?2 id: text
-- ?3 fence shown: integer
-- ?4 now: integer, ms
-- ?5 new end: integer, ms
-- ?6 note: blob, or null to leave the last one
-- Returns: the end of the lease; group and key when it has a slot; or no row.
-- Clauses: LH-RENEW-1, LH-RENEW-2, LH-RENEW-8, LH-RENEW-9, LH-GEN-7
-- index: task_id, slot
update task set until = max(until, ?5), note = coalesce(?6, note)
where id = ?2
  and queue = ?1 -- guard LH-GEN-7
  and fence = ?3 -- guard LH-RENEW-2
  and until > ?4 -- guard LH-RENEW-2
  and (limit_group is null or run is not ?3 or exists (select 1 from slot where slot.queue = ?1 and slot.limit_group = task.limit_group and slot.limit_key = task.limit_key and slot.id = ?2 and slot.fence = ?3)) -- guard LH-RENEW-8
returning
  until,
  iif(run = ?3, limit_group, null) as limit_group,
  iif(run = ?3, limit_key, null) as limit_key
