-- What every script begins with: the queue's keys, the clock, fences, and writes put off.
--
-- KEYS[1]  the queue's settings; every other key of the queue begins as it does, so that all
--          of them share one hash slot
-- KEYS[2]  a key that never exists: while a cluster moves the slot, it makes the server refuse the
--          script before it begins
-- ARGV[1]  empty: the server's TIME decides. Else, in tests, "TICK MS" of a clock that the
--          script follows; the greatest tick that the queue has seen counts
-- ARGV[2]  the newest format of a record that the caller reads, one letter
--
-- Instants are milliseconds since 1970: numbers in arithmetic, 15 digits in records. Fences
-- are text of 19 digits, so that comparing text compares numbers, and nothing is lost above
-- 2^53 (LH-FENCE-5).
-- Clauses: LH-ENQ-3

local call = redis.call
local sub, format, match, find = string.sub, string.format, string.match, string.find
local floor, min, max = math.floor, math.min, math.max

local P = sub(KEYS[1], 1, -6)
local BIRTHS, TASKS, LEASED, ALL = P .. 'birth', P .. 'task', P .. 'leased', P .. 'all'
local ARGV = ARGV -- a local is read at a fraction of the cost
local FORMAT = ARGV[2]
local LAST = 253402300799999
local NONE = '0000000000000000000'

-- A store whose memory is full refuses a script at its first write if that may grow, and lets
-- through what begins with a removal, even of nothing: what ends tasks must pass.
local function begin_with_removal()
  call('ZREM', LEASED, '')
end

-- One reading decides the whole call: a script is one step (LH-TIME-2).
local function reading()
  if ARGV[1] == '' then
    local time = call('TIME')
    return time[1] .. format('%06d', time[2])
  end
  local tick, ms = match(ARGV[1], '^(%d+) (%d+)$')
  local seen_tick, seen_ms = match(call('GET', P .. 'clock') or '', '^(%d+) (%d+)$')
  if seen_tick and tonumber(seen_tick) >= tonumber(tick) then return seen_ms .. '000' end
  begin_with_removal()
  call('SET', P .. 'clock', ARGV[1])
  return ms .. '000'
end

local micros = reading()
local now = tonumber(sub(micros, 1, -4))

local function digits(ms) return format('%015.0f', ms) end

local NOW = digits(now)

local function after(ms) return now + ms end

-- The instant that a due time names: now, so long after, or itself; never the past (LH-ENQ-3).
local function instant(due)
  local way, ms = sub(due, 1, 1), tonumber(sub(due, 2))
  if way == 'n' then return now end
  if way == 'i' then return after(ms) end
  if ms < now then return now end -- guard LH-ENQ-3
  return ms
end

local function plus(fence, n)
  local low = tonumber(sub(fence, 11)) + n
  if low < 1e9 then return sub(fence, 1, 10) .. format('%09.0f', low) end
  return format('%010.0f%09.0f', tonumber(sub(fence, 1, 10)) + floor(low / 1e9), low % 1e9)
end

-- The first of n new fences: greater than every one before, and no less than the clock's
-- microseconds, so that none given out before a loss of data comes again (LH-FENCE-7).
local function draw(n)
  local first = plus(call('GET', P .. 'fence') or NONE, 1)
  local clock = string.rep('0', 19 - #micros) .. micros
  if first < clock then first = clock end
  call('SET', P .. 'fence', plus(first, n - 1))
  return first
end

-- Writes put off and made together: one command for many members costs the server far less.
local pending, pending_order = {}, {}

-- The list of what one command is going to be given; `also` has the commands of other keys that
-- are given the same. It is one list for all of the call.
local function put_off(name, key)
  local lists = pending[name]
  if not lists then
    lists = {}
    pending[name] = lists
  end
  local list = lists[key]
  if not list then
    list = { name = name, key = key, n = 0 }
    lists[key] = list
    pending_order[#pending_order + 1] = list
  end
  return list
end

local function add(list, member)
  local n = list.n + 1
  list[n], list.n = member, n
end

local function add_pair(list, first, second)
  local n = list.n
  list[n + 1], list[n + 2], list.n = first, second, n + 2
end

-- Lua hands a call at most some 7,900 values; the step is even, so that pairs stay together.
local CHUNK = 4000

local function send(list, command, key)
  local name, first, second = match(command, '^(%u+) ?(%u*) ?(%u*)$')
  for from = 1, list.n, CHUNK do
    local to = min(from + CHUNK - 1, list.n)
    if first == '' then
      call(name, key, unpack(list, from, to))
    elseif second == '' then
      call(name, key, first, unpack(list, from, to))
    else
      call(name, key, first, second, unpack(list, from, to))
    end
  end
end

local function flush()
  for _, list in ipairs(pending_order) do
    if list.n > 0 then
      send(list, list.name, list.key)
      for key, command in pairs(list.also or {}) do send(list, command, key) end
      list.n = 0
    end
  end
end

-- The values of many fields, in their order; false where there is none.
local function many(key, fields)
  local values, n = {}, 0
  for from = 1, #fields, CHUNK do
    local part = call('HMGET', key, unpack(fields, from, min(from + CHUNK - 1, #fields)))
    for _, value in ipairs(part) do
      n = n + 1
      values[n] = value
    end
  end
  return values
end

local function count(event, n)
  if n > 0 then call('HINCRBY', P .. 'events', event, n) end
end
