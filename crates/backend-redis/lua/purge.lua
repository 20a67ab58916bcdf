-- purge: removes finished tasks whose time is over, forgets old ids and claims, mends indexes.
--
-- KEYS[1], ARGV[1], ARGV[2]  as in part/head.lua
-- ARGV[3]  how many tasks at most
-- ARGV[4]  how long an id is remembered unless the queue says otherwise, in ms
-- ARGV[5]  how long a claim is recorded at least, in ms
-- Reply: how many tasks left, and whether there may be more (0 or 1)
-- Clauses: LH-CLAIM-9, LH-ENQ-9, LH-LAPSE-8, LH-PURGE-1, LH-PURGE-2

-- The longest due first.
local function purge_tasks(most)
  local last = '+inf'
  last = now -- guard LH-PURGE-1
  local ids = call('ZRANGEBYSCORE', P .. 'expire', '-inf', last, 'LIMIT', 0, most + 1)
  local texts = many(TASKS, ids)
  local tasks = 0
  for at = 1, min(most, #ids) do
    local id, t = ids[at], texts[at] and parse(texts[at])
    if t and t.expires ~= '' and tonumber(t.expires) <= now then
      unplace(t, id)
      leave(t, id, ARGV[4])
      tasks = tasks + 1
    else
      -- Where it belongs, if anywhere, the walk over the tasks finds.
      call('ZREM', P .. 'expire', id)
      mended()
    end
  end
  flush()
  note_leaving()
  return tasks, #ids > most
end

local function is_held(id, fence)
  local text = call('HGET', TASKS, id)
  return text and sub(text, 1, 19) == fence and sub(text, 41, 55) > NOW
end

-- Drops a claim's record, or comes back to it: its pairs may not have ended.
local function forget_claim(claimer)
  local fields = string.gmatch(call('HGET', P .. 'claims', claimer) or '', '[^\t]+')
  fields()
  local fence = fields()
  for id in fields do
    if is_held(id, fence) then return call('ZADD', P .. 'claimed', now, claimer) end -- guard LH-CLAIM-9
  end
  call('HDEL', P .. 'claims', claimer)
  call('ZREM', P .. 'claimed', claimer)
end

local function forget_claims()
  local last = now
  last = last - tonumber(ARGV[5]) -- guard LH-CLAIM-9
  local old = call('ZRANGEBYSCORE', P .. 'claimed', '-inf', last, 'LIMIT', 0, STEP)
  for _, claimer in ipairs(old) do forget_claim(claimer) end
end

begin_with_removal()
local tasks, there_is_more = purge_tasks(tonumber(ARGV[3]))
forget(STEP)
forget_claims()
call('ZREMRANGEBYSCORE', P .. 'inherit', '-inf', now)
mend()
return { tasks, there_is_more and 1 or 0 }
