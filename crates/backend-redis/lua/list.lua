-- list: a page of tasks in the order of their enqueue.
--
-- KEYS[1], ARGV[1], ARGV[2]  as in part/head.lua
-- ARGV[3]  the cursor: born(19) and id of the last task seen, or empty
-- ARGV[4]  how many tasks at most
-- ARGV[5]  the states asked for, as letters
-- ARGV[6]  the kind asked for, or empty
-- ARGV[7]  how many bytes of records at most, the first apart
-- Reply: now in ms; the next cursor, or empty after the last task; then tasks as in part/read.lua,
--        which may be more than the filter admits, but not fewer
-- Clauses: LH-DEAD-4, LH-READ-3, LH-READ-4

local cursor, most, states, kind = ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]
local bytes_left = tonumber(ARGV[7])
local LOOKS_MAX = 5000
local PAGE = 500

-- The shortest index that has every task asked for.
local function index()
  for _, way in ipairs({ { 's', 'succeeded' }, { 'c', 'cancelled' } }) do
    if states == way[1] then return P .. 'done:' .. way[2] end
  end
  if not find(states, '[wrqsc]') then return P .. 'done:dead' end
  return ALL
end

-- A record that is broken is shown, whatever was asked for: the caller says what it is.
local function admits(text, birth)
  if text then
    if not find(states, sub(text, 39, 39), 1, true) then return false end
    local t = kind ~= '' and parse(text)
    return not t or t.kind == kind
  end
  if not find(states, 'w', 1, true) then return false end
  return kind == '' or birth == nil or newborn(birth).kind == kind
end

local function bytes_in(whole)
  local bytes = 0
  for _, part in ipairs(whole) do bytes = bytes + #part end
  return bytes
end

local reply, looks, found = { NOW, '' }, 0, 0

-- Whether the page is full; the cursor is then at the last task that it looked at.
local function look(member, text)
  local id = sub(member, 20)
  looks = looks + 1
  if not admits(text) then
    cursor = member
    return looks >= LOOKS_MAX
  end
  local birth = call('HGET', BIRTHS, id)
  if birth and admits(text, birth) then
    local whole = read_task(id, text, birth)
    local bytes = bytes_in(whole)
    if found > 0 and bytes > bytes_left then return true end
    bytes_left = bytes_left - bytes
    found = found + 1
    reply[2 + found] = whole
  elseif birth then
    bytes_left = bytes_left - #birth
  end
  cursor = member
  return found == most or looks >= LOOKS_MAX or bytes_left <= 0
end

local function search(key)
  while true do
    local from = cursor == '' and '-' or '(' .. cursor
    local members = call('ZRANGEBYLEX', key, from, '+', 'LIMIT', 0, PAGE)
    if #members == 0 then return false end
    local ids = {}
    for at, member in ipairs(members) do ids[at] = sub(member, 20) end
    for at, text in ipairs(many(TASKS, ids)) do
      if look(members[at], text) then return true end
    end
    if #members < PAGE then return false end
  end
end

-- Those who hold a lease are few: they are sorted here, whatever waits beside them.
local function search_leased()
  local all = call('ZRANGE', LEASED, 0, -1)
  local members, text_by = {}, {}
  for at, text in ipairs(many(TASKS, all)) do
    local member = text and sub(text, 56, 74) .. all[at]
    if member and member > cursor then
      members[#members + 1] = member
      text_by[member] = text
    end
  end
  table.sort(members)
  for _, member in ipairs(members) do
    if look(member, text_by[member]) then return true end
  end
  return false
end

local LEASED_MAX = 10000
local is_full
if not find(states, '[^rq]') and call('ZCARD', LEASED) <= LEASED_MAX then
  is_full = search_leased()
else
  is_full = search(index())
end
if is_full and call('ZRANGEBYLEX', index(), '(' .. cursor, '+', 'LIMIT', 0, 1)[1] then
  reply[2] = cursor
end
return reply
