-- Adds a task, unless its id is in use or remembered, or its unique key is held.
-- ?1 key of the queue: integer
-- ?2 id: text
-- ?3 kind: text
-- ?4 format: integer
-- ?5 terms: text, JSON
-- ?6 rank: integer, 9 - priority
-- ?7 now: integer, ms
-- ?8 due: integer, ms
-- ?9 fence: integer
-- ?10 limit group: text or null
-- ?11 limit key: text or null
-- ?12 unique key: text or null
-- ?13 payload: blob
-- Returns: seq, or no row when it is a duplicate.
-- Clauses: LH-ENQ-1, LH-ENQ-2, LH-ENQ-9, LH-UNIQ-1, LH-UNIQ-3, LH-GEN-7
-- index: remembered, task_held
with memory as (
  select 1 from remembered
  where id = ?2
    and queue = ?1 -- guard LH-GEN-7
    and until > ?7 -- guard LH-ENQ-9
)
insert into task (
  queue, id, kind, format, terms, rank, state, enqueued_at, due, held_until, fence, born,
  limit_group, limit_key, unique_key, payload)
select
  ?1, ?2, ?3, ?4, ?5, ?6, 'waiting', ?7, ?8,
  coalesce((
    select max(held.held_until) from task as held
    where held.held_until > 0
      and held.queue = ?1 -- guard LH-GEN-7
      and held.unique_key = ?12 -- guard LH-UNIQ-3
      and held.held_until > ?7 -- guard LH-UNIQ-3
    ), 0),
  ?9, ?9, ?10, ?11, ?12, ?13
where not exists (select 1 from memory) -- guard LH-ENQ-9
on conflict do nothing -- guard LH-ENQ-2
returning seq
