-- How a task leaves: by the commit that ends it, or by purge.
--
-- forget  zset: ids that left together, with TABs between -> until when they are remembered
-- history:ID  list: what the task went through, at TAB shown TAB attempt TAB cause a line
-- Clauses: LH-ENQ-9, LH-LAPSE-8, LH-PURGE-2

local function setting(name, otherwise)
  local value = call('HGET', P .. 'queue', name)
  return tonumber(value or otherwise)
end

-- Ids that leave in this call, by the end of their memory.
local leaving = {}

-- Remembers how a task ended that leaves now (LH-ENQ-9).
local function remember(id, how, memory)
  if memory <= 0 then return end
  local till = after(memory)
  later_pair('HSET', P .. 'left', id, digits(till) .. how)
  leaving[till] = leaving[till] or {}
  table.insert(leaving[till], id)
end

-- Removes every trace of a finished task that stands nowhere any more but in `all`
-- (LH-PURGE-2); its id is remembered for a while, with how it ended (LH-ENQ-9).
local function leave(t, id, memory)
  later('HDEL', P .. 'birth', id) -- guard LH-PURGE-2
  later('HDEL', P .. 'task', id) -- guard LH-PURGE-2
  later('ZREM', P .. 'all', t.born .. id) -- guard LH-LAPSE-8
  if t.side ~= '' then
    call('HDEL', P .. 'note', id) -- guard LH-LAPSE-8
    call('HDEL', P .. 'result', id) -- guard LH-LAPSE-8
    call('DEL', P .. 'history:' .. id) -- guard LH-LAPSE-8
  end
  remember(id, t.shown .. t.state .. t.by .. t.decision, memory)
end

-- Notes until when the ids that left are remembered.
local function note_leaving()
  for till, ids in pairs(leaving) do
    call('ZADD', P .. 'forget', till, table.concat(ids, '\t')) -- guard LH-LAPSE-8
  end
  leaving = {}
end

local function forget(most)
  local due = call('ZRANGEBYSCORE', P .. 'forget', '-inf', now, 'LIMIT', 0, most)
  for _, chunk in ipairs(due) do
    local ids, over = {}, {}
    for id in string.gmatch(chunk, '[^\t]+') do ids[#ids + 1] = id end
    for at, text in ipairs(many(P .. 'left', ids)) do
      -- An id may have come and left again meanwhile.
      if remembered(text) then text = false end -- guard LH-ENQ-9
      if text then over[#over + 1] = ids[at] end -- guard LH-LAPSE-8
    end
    for from = 1, #over, CHUNK do
      call('HDEL', P .. 'left', unpack(over, from, min(from + CHUNK - 1, #over)))
    end
    call('ZREM', P .. 'forget', chunk)
  end
  return #due
end
