-- How a task leaves: by the commit that ends it, or by purge.
--
-- forget  zset: ids that left together, with TABs between -> until when they are remembered
-- history:ID  list: what the task went through, at TAB shown TAB attempt TAB cause a line
-- Clauses: LH-ENQ-9, LH-LAPSE-8, LH-PURGE-2

local function setting(name, otherwise)
  local value = call('HGET', P .. 'queue', name)
  return tonumber(value or otherwise)
end

-- Ids that leave in this call, how long they are remembered in ms, and the text of that end.
local leaving = {}
local memory, memory_ends
local remembered_ids = put_off('HSET', P .. 'left')

-- Remembers how a task ended that leaves now (LH-ENQ-9); `otherwise` is for how long where the
-- queue does not say.
local function remember(id, how, otherwise)
  if not memory then
    memory = setting('id_memory', otherwise)
    memory_ends = digits(after(memory))
  end
  if memory <= 0 then return end
  add_pair(remembered_ids, id, memory_ends .. how)
  leaving[#leaving + 1] = id
end

-- Removes every trace of a finished task that stands nowhere any more but in `all`
-- (LH-PURGE-2); its id is remembered for a while, with how it ended (LH-ENQ-9).
local function leave(t, id, memory_otherwise)
  add(put_off('HDEL', BIRTHS), id) -- guard LH-PURGE-2
  add(put_off('HDEL', TASKS), id) -- guard LH-PURGE-2
  add(put_off('ZREM', ALL), t.born .. id) -- guard LH-LAPSE-8
  if t.side ~= '' then
    call('HDEL', P .. 'note', id) -- guard LH-LAPSE-8
    call('HDEL', P .. 'result', id) -- guard LH-LAPSE-8
    call('DEL', P .. 'history:' .. id) -- guard LH-LAPSE-8
  end
  remember(id, t.shown .. t.state .. t.by .. t.decision, memory_otherwise)
end

-- Notes until when the ids that left are remembered.
local function note_leaving()
  if #leaving == 0 then return end
  call('ZADD', P .. 'forget', after(memory), table.concat(leaving, '\t')) -- guard LH-LAPSE-8
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
