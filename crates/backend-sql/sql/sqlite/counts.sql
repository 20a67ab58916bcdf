-- Counts a queue's tasks and tells its counters. Unfinished tasks are counted in their
-- indexes, each once and without a sort; finished ones were counted as they came.
-- ?1 name of the queue: text
-- ?2 now: integer, ms
-- Returns: what ('ready', 'scheduled', 'leased', 'lapsed', a finished state by its name, or
--   'event' with the counter's name), and how many; a status may come more than once.
-- Clauses: LH-READ-2, LH-OBS-1
-- index: queue, task_claim, task_parked, task_lapse, tally, event
with here as materialized (select queue from queue where name = ?1),
standing as materialized (
  select count(*) filter (where ready <= ?2) as come, count(*) as n
  from task indexed by task_claim
  where queue = (select queue from here) and state = 'waiting' and parked = 0),
aside as materialized (
  select count(*) filter (where ready <= ?2) as come, count(*) as n
  from task indexed by task_parked
  where queue = (select queue from here) and parked = 1),
held as materialized (
  select count(*) filter (where until <= ?2) as come, count(*) as n
  from task indexed by task_lapse
  where queue = (select queue from here) and until is not null)
select 'ready' as what, null as name, come as n from standing
union all
select 'scheduled', null, n - come from standing
union all
select 'ready', null, come from aside
union all
select 'scheduled', null, n - come from aside
union all
select 'lapsed', null, come from held
union all
select 'leased', null, n - come from held
union all
select state, null, n from tally where queue = (select queue from here)
union all
select 'event', name, n from event where queue = (select queue from here)
