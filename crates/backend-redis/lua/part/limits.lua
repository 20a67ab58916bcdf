-- Limit keys: how full they are, what is parked behind them, when to look at them again.
--
-- slots:GROUP TAB KEY        zset: run(19) id -> the end of its lease; members, never a count,
--                            so that nobody frees the slot of another run (LH-LIMIT-3)
-- slotted                    zset: limit keys that have slots, all with score 0
-- parked:GROUP TAB KEY TAB KIND  zset: as in a lane -> rank * 2^48 + the instant it is ready at
-- kinds                      hash: limit key -> the newest clock that parked a task under it,
--                            and the kinds that have parked tasks, with TABs between
-- keys                       zset: limit key with parked tasks -> when to look at it; 0 is now
--
-- A claim that meets a task behind a full key parks it, so that no later claim walks over it
-- (LH-CLAIM-12). The tasks of a newer format are parked the same way, under a key that no
-- limit can have: TAB and the format (LH-CLAIM-11).
-- Clauses: LH-CLAIM-4, LH-CLAIM-11, LH-LAPSE-8, LH-LIMIT-6, LH-TIME-4

-- Greater than every instant, and nine of them and an instant are below 2^53: so a rank and an
-- instant are one exact score.
local RANK = 281474976710656
local NO_END = 9007199254740992

-- Keys that one call looks at, and tasks that it brings back, so that no call takes long.
local WAKES_MAX = 1000
local wakes_left = WAKES_MAX

local function key_of_newer(version) return '\t' .. version end

local function limit_number(key)
  return tonumber(call('HGET', P .. 'limits', match(key, '^[^\t]+')) or 0)
end

-- How many more leases fit under each key, looked up once a call. Slots that have ended are
-- swept for good: a clock that goes back gives none of them back (LH-RENEW-8).
local rooms = {}

local function room_of(key)
  local room = rooms[key]
  if not room then
    call('ZREMRANGEBYSCORE', P .. 'slots:' .. key, '-inf', now) -- guard LH-LIMIT-6
    room = limit_number(key) - call('ZCARD', P .. 'slots:' .. key)
    rooms[key] = room
  end
  return room
end

-- Wakes a key: the next claim looks at what is parked under it.
local function wake_key(key)
  call('ZADD', P .. 'keys', 'XX', 0, key)
end

local function earliest_end(key)
  local first = call('ZRANGE', P .. 'slots:' .. key, 0, 0, 'WITHSCORES')
  return tonumber(first[2] or NO_END)
end

local function kinds_of(key)
  local text = call('HGET', P .. 'kinds', key)
  if not text then return 0, {} end
  local at, rest = match(text, '^(%d+)(.*)$')
  local kinds = {}
  for kind in string.gmatch(rest, '\t([^\t]+)') do kinds[#kinds + 1] = kind end
  return tonumber(at), kinds
end

local function write_kinds(key, at, kinds)
  if #kinds == 0 then
    call('HDEL', P .. 'kinds', key)
    call('ZREM', P .. 'keys', key)
    return
  end
  call('HSET', P .. 'kinds', key, digits(at) .. '\t' .. table.concat(kinds, '\t'))
end

local function is_noted(kinds, kind)
  for _, one in ipairs(kinds) do
    if one == kind then return true end
  end
  return false
end

-- Notes that a kind has parked tasks under a key.
local function note_kind(key, kind)
  local at, kinds = kinds_of(key)
  if not is_noted(kinds, kind) then kinds[#kinds + 1] = kind end -- guard LH-LIMIT-6
  write_kinds(key, max(at, now), kinds)
end

-- Parks blocked tasks of one key and kind: pairs of score and member.
local function park(key, kind, pairs_of)
  call('INCRBY', P .. 'parked', call('ZADD', P .. 'parked:' .. key .. '\t' .. kind, unpack(pairs_of)))
  local last = call('HGET', P .. 'queue', 'parked_at') or ''
  if last < NOW then call('HSET', P .. 'queue', 'parked_at', NOW) end -- guard LH-LAPSE-8
  note_kind(key, kind)
end

-- Puts tasks that were parked back into their lanes: pairs of rank and ready time, and member.
local function back_to_lanes(kind, ranks)
  for rank, list in pairs(ranks) do
    local lane, first = rank .. ':' .. kind, NO_END
    for at = 1, #list, 2 do first = min(first, list[at]) end
    call('ZADD', P .. 'wait:' .. lane, unpack(list))
    call('ZADD', P .. 'lanes', 'LT', first, lane)
  end
end

local function add_pair_at(lists, at, first, second)
  local list = lists[at] or { n = 0 }
  lists[at] = list
  add_pair(list, first, second)
end

-- Brings the best parked tasks of one key and kind back to their lanes. One of a newer format
-- would take a place there that nobody here can claim: it goes on to be parked for its format.
local function bring_back(key, kind, most)
  local parked = P .. 'parked:' .. key .. '\t' .. kind
  local ranks, newer = {}, {}
  while most > 0 and wakes_left > 0 do
    local popped = call('ZPOPMIN', parked, min(most, wakes_left))
    if #popped == 0 then break end
    wakes_left = wakes_left - #popped / 2
    call('DECRBY', P .. 'parked', #popped / 2)
    for at = 1, #popped, 2 do
      local member, score = popped[at], tonumber(popped[at + 1])
      local version, here = sub(member, 20, 20), true
      if version > FORMAT then here = false end -- guard LH-CLAIM-11
      if here then
        local rank = floor(score / RANK)
        add_pair_at(ranks, rank, score - rank * RANK, member)
        most = most - 1
      else
        add_pair_at(newer, version, score, member)
      end
    end
  end
  back_to_lanes(kind, ranks)
  for version, list in pairs(newer) do
    park(key_of_newer(version), kind, list)
    call('ZADD', P .. 'keys', 0, key_of_newer(version))
  end
end

-- Looks at one key: as many tasks of each kind as have room come back, since claims may ask for
-- any of the kinds; what does not fit in the end is parked again. Whether it must be looked at
-- again at once.
local function look_at(key, room)
  local at, kinds = kinds_of(key)
  -- Under a clock that went back, those parked first may not be ready any more: all come back.
  if now < at and room > 0 then room = WAKES_MAX end -- guard LH-CLAIM-4
  local most = min(room, WAKES_MAX)
  local left, unfinished = {}, false
  for _, kind in ipairs(kinds) do
    if most > 0 then bring_back(key, kind, most) end
    if call('EXISTS', P .. 'parked:' .. key .. '\t' .. kind) == 1 then
      left[#left + 1] = kind
      unfinished = unfinished or room >= WAKES_MAX or (room > 0 and wakes_left <= 0)
    end
  end
  write_kinds(key, at, left)
  if #left > 0 then
    call('ZADD', P .. 'keys', unfinished and 0 or earliest_end(key), key)
  end
  return unfinished
end

-- A clock that went back makes parked tasks ready in another order: every key is looked at once.
local function watch_clock(parked_at, went_back)
  if NOW < parked_at and not went_back then
    if call('EXISTS', P .. 'keys') == 1 then
      call('ZUNIONSTORE', P .. 'keys', 1, P .. 'keys', 'WEIGHTS', 0)
    end
    call('HSET', P .. 'queue', 'went_back', '1')
  elseif went_back and NOW >= parked_at then
    call('HDEL', P .. 'queue', 'went_back')
  end
end

-- Looks at the keys whose time has come; how many newer tasks were passed over, and whether
-- there is more to look at.
local function wake_keys()
  local due = call('ZRANGEBYSCORE', P .. 'keys', '-inf', now, 'LIMIT', 0, WAKES_MAX)
  local newer, unfinished = 0, #due == WAKES_MAX
  for _, key in ipairs(due) do
    if wakes_left <= 0 then return newer, true end
    local version = match(key, '^\t(.)$')
    if not version then
      unfinished = look_at(key, room_of(key)) or unfinished
    elseif version <= FORMAT then
      unfinished = look_at(key, WAKES_MAX) or unfinished
    else
      local _, kinds = kinds_of(key)
      for _, kind in ipairs(kinds) do
        newer = newer + call('ZCARD', P .. 'parked:' .. key .. '\t' .. kind)
      end
    end
  end
  return newer, unfinished
end

-- Takes a task away that waits, but in no lane: it is parked behind its limit or its format.
unpark = function(t, member)
  for _, key in ipairs({ limit_of(t) or false, key_of_newer(t.format) }) do
    if key and call('ZREM', P .. 'parked:' .. key .. '\t' .. t.kind, member) == 1 then
      call('DECRBY', P .. 'parked', 1)
      local at, kinds = kinds_of(key)
      local left = {}
      for _, kind in ipairs(kinds) do
        if call('EXISTS', P .. 'parked:' .. key .. '\t' .. kind) == 1 then left[#left + 1] = kind end
      end
      write_kinds(key, at, left)
      return
    end
  end
end

-- The slot of a run ends with its lease, unless its holder frees it before (LH-LIMIT-4).
local function slot_of(fence, id) return fence .. id end

local function slot_stands(t, id, fence)
  local key = limit_of(t)
  return not key or call('ZSCORE', P .. 'slots:' .. key, slot_of(fence, id)) ~= false
end
