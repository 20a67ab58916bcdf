-- How a claim finds ready tasks: rank by rank, over the lanes that may have some.
--
-- Clauses: LH-CLAIM-1, LH-CLAIM-3, LH-CLAIM-11, LH-CLAIM-12, LH-LIMIT-1, LH-LIMIT-2, LH-OBS-1

-- Candidates that one call looks at, blocked and newer ones included.
local LOOKS_MAX = 2000
local looks = 0

local blocked = {} -- parked:KEY TAB KIND -> what is parked there in this call

-- Sets a task aside; the search goes on.
local function block(key, kind, rank, ready, member)
  local at = key .. '\t' .. kind
  local list = blocked[at]
  if not list then
    list = { key = key, kind = kind }
    blocked[at] = list
  end
  list[#list + 1] = rank * RANK + ready
  list[#list + 1] = member
  return true
end

local function block_newer(version, lane, ready, member)
  passed_over = passed_over + 1
  return block(key_of_newer(version), lane.kind, lane.rank, ready, member)
end

-- The tasks of a lane that are ready, some at a time.
local function open_lane(lane, page)
  return { name = lane, rank = tonumber(sub(lane, 1, 1)), kind = sub(lane, 3), key = P .. 'wait:' .. lane, tails = {},
           page = page, offset = 0, at = 1, found = {}, over = false, taken = 0 }
end

local function head_of(lane)
  if lane.at > #lane.found and not lane.over then
    local last = '+inf'
    last = now -- guard LH-CLAIM-1
    lane.found = call('ZRANGEBYSCORE', lane.key, '-inf', last, 'WITHSCORES', 'LIMIT', lane.offset, lane.page)
    lane.offset = lane.offset + lane.page
    lane.at = 1
    lane.over = #lane.found < lane.page * 2
  end
  local member, ready = lane.found[lane.at], lane.found[lane.at + 1]
  if member then return member, tonumber(ready), ready end
end

-- The lane whose first task is served next: by ready time, then by the order of enqueue.
local function next_lane(lanes)
  if #lanes == 1 then return lanes[1], head_of(lanes[1]) end
  local best, best_member, best_ready, best_text
  for _, lane in ipairs(lanes) do
    local member, ready, text = head_of(lane)
    if member and (not best or ready < best_ready or (ready == best_ready and member < best_member)) then
      best, best_member, best_ready, best_text = lane, member, ready, text
    end
  end
  return best, best_member, best_ready, best_text
end

-- What three letters of a member say: format, size and mark.
local looks_of = {}

local function look_of(member)
  local text = sub(member, 20, 22)
  local look = looks_of[text]
  if not look then
    local version, size, mark = sub(text, 1, 1), sub(text, 2, 2), sub(text, 3, 3)
    look = { version = version, size = size, mark = mark, is_limited = mark == '1' or mark == '3' }
    looks_of[text] = look
  end
  return look
end

-- What a claim does with one ready task. False ends the search.
local function judge(lane, member, ready, text)
  local look = look_of(member)
  if look.version > FORMAT then return block_newer(look.version, lane, ready, member) end -- guard LH-CLAIM-11
  local id, limit
  if not look.is_limited then
    id = sub(member, 23)
  else
    local tab = find(member, '\t', 23, true)
    id, limit = sub(member, 23, tab - 1), sub(member, tab + 1)
    if room_of(limit) <= 0 then return block(limit, lane.kind, lane.rank, ready, member) end -- guard LH-LIMIT-1
  end
  if not fits(look.size) then return false end
  if limit then rooms[limit] = room_of(limit) - 1 end -- guard LH-LIMIT-1
  choose({ id = id, member = member, look = look, ready = text, lane = lane, limit = limit })
  return true
end

-- Whether the lanes have been seen to their end.
local function search(lanes)
  while n_chosen < most do
    local lane, member, ready, text = next_lane(lanes)
    if not member then return true end
    if looks == LOOKS_MAX then return false end
    looks = looks + 1
    if not judge(lane, member, ready, text) then return false end
    lane.taken = lane.taken + 1
    lane.at = lane.at + 2
  end
  return false
end

-- The lanes that may have a ready task, by rank.
local function lanes_by_rank()
  local ranks = {}
  for _, lane in ipairs(call('ZRANGEBYSCORE', P .. 'lanes', '-inf', now)) do
    if is_wanted(sub(lane, 3)) then
      local rank = tonumber(sub(lane, 1, 1))
      ranks[rank] = ranks[rank] or {}
      table.insert(ranks[rank], lane)
    end
  end
  return ranks
end

-- After the tasks have left it: a lane that has nothing ready says when it will have.
local function mend_lane(lane)
  -- What was taken are the first of the lane, as they are looked at in its order.
  if lane.taken > 0 then call('ZREMRANGEBYRANK', lane.key, 0, lane.taken - 1) end
  if not lane.over then return end
  local first = call('ZRANGE', lane.key, 0, 0, 'WITHSCORES')
  if first[2] then call('ZADD', P .. 'lanes', first[2], lane.name) end
  if not first[2] then call('ZREM', P .. 'lanes', lane.name) end
end

local function park_blocked()
  local limits = {}
  for _, list in pairs(blocked) do
    park(list.key, list.kind, list)
    local is_newer = sub(list.key, 1, 1) == '\t'
    call('ZADD', P .. 'keys', is_newer and 0 or earliest_end(list.key), list.key)
    if not is_newer then limits[list.key] = true end
  end
  for _ in pairs(limits) do count('blocked_by_limit', 1) end -- guard LH-OBS-1
end

-- The ready tasks that are served next, out of their lanes; and whether none was left out.
local function find_ready()
  local ranks, looked, is_all = lanes_by_rank(), {}, true
  for rank = 0, 9 do
    local names, lanes = ranks[rank] or {}, {}
    for at, name in ipairs(names) do
      lanes[at] = open_lane(name, floor((most - n_chosen) / #names) + 8)
      looked[#looked + 1] = lanes[at]
    end
    if #lanes > 0 and not search(lanes) then
      is_all = false
      break
    end
  end
  for _, lane in ipairs(looked) do mend_lane(lane) end
  park_blocked()
  return chosen, is_all
end
