-- How a task enters: by enqueue, or as the follow-up of a commit.
--
-- A new task is 7 values: id; due (n = now, i MS = in so long, a MS = at that instant); rank;
-- kind; limit group TAB key, or empty; unique key, or empty; what follows due in its birth
-- record.
--
-- all      zset: born(19) id, all with score 0: every task in the order of its enqueue
-- unique   hash: unique key -> id of the unfinished task that holds it
-- inherit  zset: unique key -> what its next holder has to wait for (LH-UNIQ-3)
-- left     hash: id of a task that left -> until(15) shown(19) state(1) by(1) decision(32)
-- Clauses: LH-ENQ-2, LH-ENQ-4, LH-ENQ-9, LH-LAPSE-8, LH-UNIQ-1, LH-UNIQ-2, LH-UNIQ-3

local ITEM = 7

local function new_task(at)
  return {
    id = ARGV[at], due = ARGV[at + 1], rank = ARGV[at + 2], kind = ARGV[at + 3],
    limit = ARGV[at + 4], unique = ARGV[at + 5], rest = ARGV[at + 6],
  }
end

-- The limit group of one of n tasks from ARGV[from] on that has no number; nil if all have.
local function unset_group(from, n)
  local known = {}
  for at = from, from + (n - 1) * ITEM, ITEM do
    local group = match(ARGV[at + 4], '^[^\t]+')
    if group and not known[group] then
      if call('HEXISTS', P .. 'limits', group) == 0 then return group end
      known[group] = true
    end
  end
end

-- The state of a task, without what it carries; nil if there is none.
local function state_of(id)
  local text = call('HGET', TASKS, id)
  if text then return sub(text, 39, 39) end
  if call('HEXISTS', BIRTHS, id) == 1 then return 'w' end
end

local function duplicate(cause, holder)
  return 'D' .. cause .. (state_of(holder) or '-') .. holder
end

-- The unfinished task that holds a unique key. One that is finished or gone holds none: such an
-- entry was surplus, and whoever takes the key mends it (LH-LAPSE-8).
local function holder_of(key)
  local id = call('HGET', P .. 'unique', key)
  local state = id and state_of(id)
  if state and not is_finished(state) then return id end
  if id then count('repaired', 1) end
end

-- What stops a task from entering; the id is looked at before the key (LH-ENQ-2).
local function obstacle(new, left)
  if remembered(left) then return 'Di-' .. new.id end -- guard LH-ENQ-9
  if new.unique == '' then return nil end
  if call('HEXISTS', BIRTHS, new.id) == 1 then return duplicate('i', new.id) end -- guard LH-ENQ-2
  local holder = holder_of(new.unique)
  if holder then return duplicate('k', holder) end -- guard LH-UNIQ-2
end

-- An unfinished task takes its unique key, with what the last holder left to wait for.
local function take_key(t, id)
  if t.unique == '' then return end
  call('HSET', P .. 'unique', t.unique, id) -- guard LH-UNIQ-1
  local held = tonumber(call('ZSCORE', P .. 'inherit', t.unique) or 0)
  if held > now then t.held = format('%.0f', max(held, tonumber(t.held ~= '' and t.held or 0))) end -- guard LH-UNIQ-3
end

-- The lanes that new tasks stand in, and the earliest instant in each.
local filled = {}

-- Stores one new task unless something stands in its way; `left` is what is remembered under
-- its id. 'E' and the fence, or 'D', the cause, the holder's state and its id.
local function enter(new, fence, left)
  local stopped = obstacle(new, left)
  if stopped then return stopped end
  local id = new.id
  local due = instant(new.due)
  local score = format('%.0f', due)
  local birth = FORMAT .. '\t' .. fence .. '\t' .. NOW .. '\t' .. score .. '\t' .. new.rest
  if call('HSETNX', BIRTHS, id, birth) == 0 then return duplicate('i', id) end -- guard LH-ENQ-2
  if left then call('HDEL', P .. 'left', id) end -- guard LH-LAPSE-8
  local mark = 0
  if new.limit ~= '' then mark = mark + LIMITED end
  local ready = due
  if new.unique ~= '' then
    mark = mark + UNIQUE
    local t = newborn(birth)
    take_key(t, id)
    ready = ready_of(t)
    score = format('%.0f', ready)
    if t.held ~= '' then call('HSET', TASKS, id, text_of(t)) end -- guard LH-UNIQ-3
  end
  local member = fence .. FORMAT .. size_of(#birth) .. mark .. id
  if new.limit ~= '' then member = member .. '\t' .. new.limit end
  local lane = new.rank .. ':' .. new.kind
  add_pair(put_off('ZADD', P .. 'wait:' .. lane), score, member)
  add_pair(put_off('ZADD', ALL), '0', fence .. id)
  if ready < (filled[lane] or LAST + 1) then filled[lane] = ready end -- guard LH-ENQ-4
  return 'E' .. fence
end

-- Makes the writes that were put off, and tells those who wait if there is something to claim.
local function settle()
  local ready = false
  for lane, first in pairs(filled) do
    add_pair(put_off('ZADD LT', P .. 'lanes'), first, lane)
    ready = ready or first <= now
  end
  filled = {}
  flush()
  return ready
end

local function wake() call('PUBLISH', P .. 'wake', '') end
