-- Counts a queue's tasks and tells its counters. Unfinished tasks are counted in their
-- indexes, finished ones were counted as they came.
-- ?1 name of the queue: text
-- ?2 now: integer, ms
-- Returns: what ('ready', 'scheduled', 'leased', 'lapsed', a finished state by its name, or
--   'event' with the counter's name), and how many; a status may come more than once.
-- Clauses: LH-READ-2, LH-OBS-1
-- index: queue, task_claim, task_parked, task_lapse, tally, event
with here as materialized (select queue from queue where name = ?1)
select iif(ready <= ?2, 'ready', 'scheduled') as what, null as name, count(*) as n
  from task indexed by task_claim
  where queue = (select queue from here) and state = 'waiting' and parked = 0
  group by 1
union all
select iif(ready <= ?2, 'ready', 'scheduled'), null, count(*)
  from task indexed by task_parked
  where queue = (select queue from here) and parked = 1
  group by 1
union all
select iif(until <= ?2, 'lapsed', 'leased'), null, count(*)
  from task indexed by task_lapse
  where queue = (select queue from here) and until is not null
  group by 1
union all
select state, null, n from tally where queue = (select queue from here)
union all
select 'event', name, n from event where queue = (select queue from here)
