-- What purge finds and mends: entries of indexes that disagree with the tasks' records.
--
-- Each walk looks at STEP members in a call and begins where the last one ended, so that all is
-- seen in bounded steps (LH-LAPSE-8). What a walk comes to is kept in the queue's settings.
-- Clauses: LH-LAPSE-8, LH-LIMIT-3, LH-LIMIT-7, LH-OPER-11, LH-UNIQ-3

local STEP = 500
local repaired = 0

local function mended()
  repaired = repaired + 1 -- guard LH-LAPSE-8
end

local function walked(name)
  return call('HGET', P .. 'queue', name) or ''
end

local function remember_walk(name, from, to)
  -- Nothing is written of a queue that does not exist.
  if to ~= from then call('HSET', P .. 'queue', name, to) end
end

-- ---- indexes by name

-- Walks over an index in the order of its members, with each member's task record; `step` answers
-- true when the call has looked at enough.
local function walk(name, key, id_of, step)
  local from = walked(name)
  local members = call('ZRANGEBYLEX', key, from == '' and '-' or '(' .. from, '+', 'LIMIT', 0, STEP)
  local ids = {}
  for at, member in ipairs(members) do ids[at] = id_of(member) end
  local to = #members == STEP and members[STEP] or ''
  for at, text in ipairs(many(TASKS, ids)) do
    if step(members[at], ids[at], text) then
      to = members[at]
      break
    end
  end
  remember_walk(name, from, to)
end

local function id_in_order(member) return sub(member, 20) end

local function itself(member) return member end

-- Whether a lease or a held until explains a slot that has not ended.
local function is_explained(fence, id, ends)
  local text = call('HGET', TASKS, id)
  local t = text and parse(text)
  if not t then return false end
  if t.run == fence then return true end -- guard LH-LIMIT-3
  if t.held ~= '' and tonumber(t.held) >= ends then return true end -- guard LH-LIMIT-7
  return false
end

-- Slots that one call looks at; of a key with more of them, those that end first.
local slots_left = 2000

local function mend_slots(key)
  local name = P .. 'slots:' .. key
  call('ZREMRANGEBYSCORE', name, '-inf', now)
  local slots = call('ZRANGE', name, 0, slots_left - 1, 'WITHSCORES')
  for at = 1, #slots, 2 do
    local member, ends = slots[at], tonumber(slots[at + 1])
    if not is_explained(sub(member, 1, 19), sub(member, 20), ends) then
      call('ZREM', name, member) -- guard LH-LAPSE-8
      wake_key(key) -- guard LH-LAPSE-8
      mended()
    end
  end
  if call('EXISTS', name) == 0 then call('ZREM', P .. 'slotted', key) end
  slots_left = slots_left - max(#slots / 2, 1)
  return slots_left <= 0
end

-- When a claim must look at a key with parked tasks, at the latest.
local function look_by(key)
  if sub(key, 1, 1) == '\t' then return now end
  local first = earliest_end(key)
  if first == NO_END and limit_number(key) > 0 then return now end
  return first
end

-- A parked task is found by its key and its kind.
local function mend_key(key, kind)
  local _, kinds = kinds_of(key)
  local at = tonumber(call('ZSCORE', P .. 'keys', key) or NO_END + 1)
  if is_noted(kinds, kind) and at <= look_by(key) then return end
  note_kind(key, kind)
  call('ZADD', P .. 'keys', 0, key)
  mended()
end

-- The key that a waiting task is parked under; nil if it is not.
local function parked_under(t, member)
  for _, key in ipairs({ limit_of(t) or false, key_of_newer(t.format) }) do
    if key and call('ZSCORE', P .. 'parked:' .. key .. '\t' .. t.kind, member) then return key end
  end
end

local function has_score(key, member, score)
  local has = call('ZSCORE', key, member)
  return has and tonumber(has) == score
end

local function stands_in_lane(t, id)
  local lane = t.rank .. ':' .. t.kind
  local first = call('ZSCORE', P .. 'lanes', lane)
  return first and tonumber(first) <= ready_of(t)
    and has_score(P .. 'wait:' .. lane, member_of(t, id), ready_of(t))
end

local function stands_well(t, id)
  if t.state == 'w' then return stands_in_lane(t, id) end
  if is_leased(t.state) then return has_score(LEASED, id, tonumber(t.ends)) end
  return call('ZSCORE', done_of(t.state), t.born .. id)
    and (t.expires == '' or has_score(P .. 'expire', id, tonumber(t.expires)))
end

local function mend_task(t, id)
  local parked = t.state == 'w' and parked_under(t, member_of(t, id))
  if parked then
    mend_key(parked, t.kind)
  elseif not stands_well(t, id) then
    place(t, id) -- guard LH-LAPSE-8
    mended()
  end
  if t.unique ~= '' and not is_finished(t.state) and call('HSETNX', P .. 'unique', t.unique, id) == 1 then
    mended()
  end
end

-- Bytes of birth records that one call reads.
local birth_bytes_left = 4194304

local function mend_member(member, id, text)
  if not text then birth_bytes_left = birth_bytes_left - call('HSTRLEN', BIRTHS, id) end
  local t, broken = seen(id, text)
  if t and t.born .. id == member then
    mend_task(t, id)
  elseif not broken then
    call('ZREM', ALL, member)
    mended()
  end
  return birth_bytes_left <= 0
end

-- ---- entries without a task

local function mend_done(key)
  return function(member, id, text)
    if text and sub(text, 56, 74) .. id == member and done_of(sub(text, 39, 39)) == key
      and is_finished(sub(text, 39, 39)) then return end
    call('ZREM', key, member)
    mended()
  end
end

-- An unfinished task holds its unique key; nobody else keeps one from others.
local function walk_unique()
  local from = walked('walk:unique')
  local found = call('HSCAN', P .. 'unique', from == '' and '0' or from, 'COUNT', STEP)
  for at = 1, #found[2], 2 do
    local key, id = found[2][at], found[2][at + 1]
    local text = call('HGET', TASKS, id)
    local t = text and parse(text)
    local holds = call('HEXISTS', BIRTHS, id) == 1
      and (not t or (t.unique == key and not is_finished(t.state)))
    if not holds then
      call('HDEL', P .. 'unique', key)
      mended()
    end
  end
  remember_walk('walk:unique', from, found[1] == '0' and '' or found[1])
end

-- ---- indexes by time

-- Walks over members that stand by a time. What moves under the walk is seen by the next one.
-- How many it looked at, and where it came to.
local function walk_times(key, from, most, id_of, is_right)
  local members = call('ZRANGE', key, from, from + most - 1)
  local ids = {}
  for at, member in ipairs(members) do ids[at] = id_of(member) end
  for at, text in ipairs(many(TASKS, ids)) do
    if is_right(members[at], ids[at], text) then
      from = from + 1
    else
      call('ZREM', key, members[at]) -- guard LH-LAPSE-8
      mended()
    end
  end
  return #members, from
end

-- One whose record is broken stays: it lapses, and is decided about then.
local function is_lease(_, _, text)
  return text and (is_leased(sub(text, 39, 39)) or not parse(text))
end

local function walk_leased()
  local from = walked('walk:leased')
  local looked, to = walk_times(LEASED, tonumber(from) or 0, STEP, itself, is_lease)
  remember_walk('walk:leased', from, looked == STEP and format('%d', to) or '')
end

local function id_in_lane(member) return match(sub(member, 23), '^[^\t]+') or '' end

local function is_waiting(member, id, text)
  if text then return sub(text, 39, 39) == 'w' and sub(text, 56, 74) == sub(member, 1, 19) end
  return call('ZSCORE', ALL, sub(member, 1, 19) .. id)
end

-- Lane by lane in the order of their names; each lane counts as one more member.
local function walk_lanes()
  local from = walked('walk:lanes')
  local at, first = match(from, '^(%d+)\t(.*)$')
  local lanes = call('ZRANGE', P .. 'lanes', 0, -1)
  table.sort(lanes)
  local rest, to = STEP, ''
  for _, lane in ipairs(lanes) do
    if rest > 0 and lane >= (first or '') then
      local key = P .. 'wait:' .. lane
      local looked, next_at = walk_times(key, lane == first and tonumber(at) or 0, rest, id_in_lane, is_waiting)
      if call('EXISTS', key) == 0 then call('ZREM', P .. 'lanes', lane) end
      rest = rest - looked - 1
      if rest <= 0 then to = format('%d', next_at) .. '\t' .. lane end
    end
  end
  remember_walk('walk:lanes', from, to)
end

local function mend()
  walk('walk:slots', P .. 'slotted', itself, mend_slots)
  walk('walk:tasks', ALL, id_in_order, mend_member)
  for _, name in ipairs({ 'succeeded', 'dead', 'cancelled' }) do
    walk('walk:' .. name, P .. 'done:' .. name, id_in_order, mend_done(P .. 'done:' .. name))
  end
  walk_unique()
  walk_leased()
  walk_lanes()
  count('repaired', repaired) -- guard LH-LAPSE-8
end
