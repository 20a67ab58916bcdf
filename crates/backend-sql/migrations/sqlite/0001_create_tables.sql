-- The whole schema. Tables are private: people read the views at the end.
--
-- Times are integers, milliseconds since 1970-01-01 UTC. Names are compared byte by byte
-- (BINARY, the default collation). A fence is a positive 64-bit integer.

-- One row a queue that has had a task or a setting.
create table queue (
  queue integer primary key,
  name text not null unique,
  paused integer not null default 0,
  retention text not null, -- JSON, leasehold_core::stored
  id_memory_ms integer not null
) strict;

-- The number of each limit group: how many unlapsed slots one of its keys may have.
create table limit_group (
  queue integer not null,
  limit_group text not null,
  max integer not null,
  primary key (queue, limit_group)
) strict, without rowid;

-- One row: the last fence that was drawn, whatever has left since (LH-FENCE-1).
create table fence (
  one integer primary key check (one = 1),
  value integer not null
) strict;

insert into fence (one, value) values (1, 0);

create table task (
  seq integer primary key autoincrement, -- order of enqueue; a cursor never meets a number again
  queue integer not null,
  id text not null,
  kind text not null,
  format integer not null, -- version of terms
  terms text not null, -- policy and headers as JSON, leasehold_core::stored
  rank integer not null, -- 9 - priority: 0 is served first, so that the index order is the order of service
  state text not null, -- leasehold_core::State by name
  enqueued_at integer not null,
  due integer not null,
  held_until integer not null default 0, -- end of a lease that an operator took away; 0 is none
  ready integer not null generated always as (max(due, held_until)) stored, -- a virtual column is computed from the row even where an index has it
  fence integer not null,
  born integer not null,
  run integer, -- the newest run with a right to a late success
  shown integer, -- the last applied commit: its fence, decision id and role
  decision blob,
  shown_by text,
  until integer, -- end of the lease; null unless leased
  holder text,
  attempt integer not null default 0,
  failures integer not null default 0,
  rescues integer not null default 0,
  takeovers integer not null default 0,
  limit_group text,
  limit_key text,
  parked integer not null default 0, -- 1: a claim met it behind a full key and has set it aside
  unique_key text,
  finished_at integer, -- null unless finished
  expires integer, -- when purge may take it; null is never
  note blob,
  result blob,
  payload blob not null, -- last, so that reading the rest of a row does not walk through it
  check ((until is null) = (state not in ('leased_run', 'leased_rescue'))),
  check ((finished_at is null) = (state in ('waiting', 'leased_run', 'leased_rescue'))),
  check (parked = 0 or state = 'waiting'),
  -- A value that no build can read would make a record that nobody can act on. Reasons of dead
  -- letters are not listed: a check cannot be changed, and a release may add one.
  check (state in ('waiting', 'leased_run', 'leased_rescue', 'succeeded', 'cancelled')
    or state glob 'dead_*'),
  check (rank between 0 and 9),
  check ((shown is null) = (decision is null) and (shown is null) = (shown_by is null)),
  check (length(decision) = 16),
  check (shown_by in ('worker', 'rescuer', 'operator'))
) strict;

create unique index task_id on task (queue, id);

-- Pages of a list.
create index task_order on task (queue, seq);
create index task_finished on task (queue, seq) where finished_at is not null;

-- Claims for a run walk one of these, level by level. The format stands in them so that a
-- record of a newer version costs a step in the index and no look at its row.
create index task_claim on task (queue, rank, ready, seq, format)
  where state = 'waiting' and parked = 0;
create index task_claim_kind on task (queue, kind, rank, ready, seq, format)
  where state = 'waiting' and parked = 0;

-- What a claim passes over and counts (LH-CLAIM-11); empty but during an upgrade.
create index task_newer on task (queue, seq) where format > 1;

-- Tasks set aside behind a full key, so that a claim does not walk over them (LH-CLAIM-12).
create index task_parked on task (queue, limit_group, limit_key, kind, rank, ready, seq, format)
  where parked = 1;

-- Lapsed leases, and the leases of one claim.
create index task_lapse on task (queue, until) where until is not null;
create index task_lease on task (queue, fence) where until is not null;

-- This index is LH-UNIQ-1.
create unique index task_unique on task (queue, unique_key)
  where unique_key is not null and finished_at is null;

-- What the next holder of a unique key inherits (LH-UNIQ-3).
create index task_held on task (queue, unique_key, held_until) where held_until > 0;

create index task_expires on task (queue, expires) where expires is not null;

-- What a task went through: its first record and the newest ones; n counts also those dropped.
create table history (
  task integer not null, -- seq of the task
  n integer not null,
  at integer not null,
  shown integer not null, -- the fence that the commit showed
  attempt integer not null,
  cause text not null, -- JSON, leasehold_core::stored
  primary key (task, n)
) strict, without rowid;

create trigger history_deleted after delete on task
begin
  delete from history where task = old.seq;
end;

-- One row a lease that counts under a limit key, by task and fence and never as a number
-- (LH-LIMIT-3). It ends with its time; a claim or a purge then sweeps it.
create table slot (
  queue integer not null,
  limit_group text not null,
  limit_key text not null,
  id text not null,
  fence integer not null,
  until integer not null,
  primary key (queue, limit_group, limit_key, id, fence)
) strict, without rowid;

create index slot_until on slot (queue, until);

-- One row a limit key that has parked tasks.
create table limit_key (
  queue integer not null,
  limit_group text not null,
  limit_key text not null,
  wake_at integer not null, -- when a claim has to look again; 0, at once, after what may have made room
  parked_at integer not null, -- latest instant of a parking: only a clock behind it has parked tasks that are not ready
  primary key (queue, limit_group, limit_key)
) strict, without rowid;

create index limit_key_wake on limit_key (queue, wake_at);
create index limit_key_parked on limit_key (queue, parked_at);

-- Tasks that have left, and until when each is remembered (LH-ENQ-9).
create table remembered (
  queue integer not null,
  id text not null,
  shown integer not null,
  decision blob not null,
  shown_by text not null,
  state text not null,
  until integer not null,
  primary key (queue, id),
  check (length(decision) = 16),
  check (shown_by in ('worker', 'rescuer', 'operator'))
) strict, without rowid;

create index remembered_until on remembered (queue, until);

-- The newest claim of each claiming loop that granted something (LH-CLAIM-9).
create table claim (
  queue integer not null,
  claimer blob not null,
  seq integer not null,
  fence integer not null,
  at integer not null,
  primary key (queue, claimer)
) strict, without rowid;

create index claim_at on claim (queue, at);

-- Counters of what happened (LH-OBS-1).
create table event (
  queue integer not null,
  name text not null, -- one of leasehold_core::Events::NAMES
  n integer not null,
  primary key (queue, name)
) strict, without rowid;

-- How many finished tasks there are in each state, so that to count them does not take
-- longer the more there are (LH-READ-2). Kept by the triggers below. What leaves in the step
-- that finishes it (it expires as it finishes) is never counted, which spares two writes.
create table tally (
  queue integer not null,
  state text not null,
  n integer not null,
  primary key (queue, state)
) strict, without rowid;

create trigger tally_leaves after update of state, finished_at, expires on task
when old.finished_at is not null and (old.expires is null or old.expires > old.finished_at)
begin
  update tally set n = n - 1 where queue = old.queue and state = old.state;
end;

create trigger tally_enters after update of state, finished_at, expires on task
when new.finished_at is not null and (new.expires is null or new.expires > new.finished_at)
begin
  insert into tally (queue, state, n) values (new.queue, new.state, 1)
    on conflict do update set n = n + 1;
end;

create trigger tally_deleted after delete on task
when old.finished_at is not null and (old.expires is null or old.expires > old.finished_at)
begin
  update tally set n = n - 1 where queue = old.queue and state = old.state;
end;

-- What people read; the rest may change from one release to the next.
create view task_view as
select
  queue.name as queue,
  task.id,
  task.kind,
  case
    when task.state = 'waiting'
      then iif(task.ready <= clock.now_ms, 'ready', 'scheduled')
    when task.until is not null
      then iif(task.until > clock.now_ms, 'leased', 'lapsed')
    when task.state like 'dead%' then 'dead'
    else task.state
  end as status,
  iif(task.state like 'dead%', substr(task.state, 6), null) as reason,
  9 - task.rank as priority,
  strftime('%Y-%m-%d %H:%M:%f', task.enqueued_at / 1000.0, 'unixepoch') as enqueued_at,
  strftime('%Y-%m-%d %H:%M:%f', task.ready / 1000.0, 'unixepoch') as ready_at,
  strftime('%Y-%m-%d %H:%M:%f', task.until / 1000.0, 'unixepoch') as lease_until,
  task.holder,
  strftime('%Y-%m-%d %H:%M:%f', task.finished_at / 1000.0, 'unixepoch') as finished_at,
  strftime('%Y-%m-%d %H:%M:%f', task.expires / 1000.0, 'unixepoch') as expires_at,
  task.attempt,
  task.failures,
  task.rescues,
  task.limit_group,
  task.limit_key,
  task.unique_key,
  task.terms,
  length(task.payload) as payload_bytes,
  cast(task.payload as text) as payload_text,
  task.fence
from task
join queue on queue.queue = task.queue
cross join (select cast((julianday('now') - 2440587.5) * 86400000 as integer) as now_ms) as clock;

create view history_view as
select
  queue.name as queue,
  task.id,
  history.n,
  strftime('%Y-%m-%d %H:%M:%f', history.at / 1000.0, 'unixepoch') as at,
  history.attempt,
  history.cause
from history
join task on task.seq = history.task
join queue on queue.queue = task.queue;

-- Whose file this is (LHLD in ASCII), and which schema it has.
pragma application_id = 0x4c484c44;
pragma user_version = 1;
