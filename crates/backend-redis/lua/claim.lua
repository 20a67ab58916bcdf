-- claim: takes leases, on ready tasks to run them or on lapsed leases to decide about them.
--
-- KEYS[1], ARGV[1], ARGV[2]  as in part/head.lua
-- ARGV[3]  r to run, q to rescue
-- ARGV[4]  how many leases at most
-- ARGV[5]  how long, in ms
-- ARGV[6]  holder, a label
-- ARGV[7]  claimer, or empty; ARGV[8] its seq in 20 digits
-- ARGV[9]  how many bytes of records at most, the first apart
-- ARGV[10..]  kinds, or none for all
-- Reply: more (0 or 1, or s for a superseded claim), now in ms, then for each lease its id, its
--        birth record, its task record, and its note behind a + or an empty text. In the place of
--        a birth record stands a task record that is broken
-- Clauses: LH-CLAIM-2, LH-CLAIM-4, LH-CLAIM-5, LH-CLAIM-6, LH-CLAIM-7, LH-CLAIM-8, LH-CLAIM-9,
--          LH-CLAIM-11, LH-FENCE-1, LH-LAPSE-2, LH-LAPSE-8, LH-LAPSE-9, LH-LIMIT-1, LH-LIMIT-6,
--          LH-OBS-1, LH-TIME-5
--
-- claims   hash: claimer -> seq(20) TAB fence TAB ids with TABs between
-- claimed  zset: claimer -> when it last claimed

local reply, told = { '0', NOW }, 2

-- What the caller gets of one lease.
local function tell(id, birth, written, side)
  local note = side ~= '' and call('HGET', P .. 'note', id)
  reply[told + 1], reply[told + 2], reply[told + 3] = id, birth, written
  reply[told + 4] = note and '+' .. note or ''
  told = told + 4
end

local function goes_on(t, id, fence)
  if t.fence ~= fence then return false end -- guard LH-CLAIM-9
  if t.ends <= NOW then return false end -- guard LH-CLAIM-9
  if t.run == fence and not slot_stands(t, id, fence) then return false end -- guard LH-CLAIM-9
  return true
end

-- A repeat returns what it still holds, and never grants (LH-CLAIM-9).
local function repeated(record)
  local fields = string.gmatch(record, '[^\t]+')
  fields()
  local fence = fields()
  for id in fields do
    local text = call('HGET', TASKS, id)
    local t = text and parse(text)
    if t and goes_on(t, id, fence) then
      tell(id, call('HGET', BIRTHS, id) or '', text, t.side)
    end
  end
  return reply
end

-- What stands behind the due time in the records of a lane's first runs, but for limit and unique
-- key: the same for all that look the same.
local function tail_of(lane, look)
  local tail = lane.tails[look]
  if not tail then
    tail = '\t' .. lane.rank .. '\t\t\t\t\t\t\t0\t\t' .. look.version .. '\t' .. look.size .. '\t' .. lane.kind
      .. '\t'
    lane.tails[look] = tail
  end
  return tail
end

-- A task that was never claimed gets its record now, by what its place tells of it; its birth
-- record is not taken apart, which would cost more than all the rest.
local function first_run(one, fence, born, birth)
  local mark, limit, unique = one.look.mark, one.limit or '\t', ''
  if mark >= '2' then unique = newborn(birth).unique end
  return fence .. fence .. 'r' .. mark .. ENDS .. born .. '\t1\t0\t0\t0\t' .. one.ready
    .. tail_of(one.lane, one.look) .. limit .. '\t' .. unique .. '\t' .. holder
end

local function next_run(t, fence)
  t.fence, t.run, t.state, t.ends, t.holder = fence, fence, 'r', ENDS, holder
  t.attempt = format('%d', t.attempt + 1) -- guard LH-CLAIM-5
  return text_of(t)
end

-- Whether a candidate's task bears its place out (LH-LAPSE-8). Of what is broken the place is all
-- that is known, and it is granted as it is (LH-CLAIM-11).
local function stands(born, text, t, birth)
  if not birth then return false end
  if text and not t then return true end
  if sub(birth, 3, 21) ~= born and match(birth, BIRTH) then return false end -- guard LH-LAPSE-8
  if t and t.state ~= 'w' then return false end -- guard LH-LAPSE-8
  if t and ready_of(t) > now then return false end
  return true
end

-- An entry that its task does not bear out has left its lane. The task goes where it belongs, and
-- those that were parked behind the entry are looked at again.
local function mend_entry(one, t)
  if t and t.state == 'w' then place(t, one.id) end
  if one.limit then wake_key(one.limit) end
end

local function take_slot(one, fence)
  add_pair(put_off('ZADD', P .. 'slots:' .. one.limit), ENDS_SCORE, slot_of(fence, one.id)) -- guard LH-LIMIT-1
  add_pair(put_off('ZADD XX LT', P .. 'keys'), ENDS_SCORE, one.limit) -- guard LH-LIMIT-6
  add_pair(put_off('ZADD', P .. 'slotted'), '0', one.limit) -- guard LH-LAPSE-8
end

-- Fence, run, attempt, lease end and slot in one step (LH-CLAIM-5).
local function grant_runs(granted, chosen)
  local ids = ids_of(chosen)
  local texts, births = many(TASKS, ids), many(BIRTHS, ids)
  local fence, mended = draw(1), 0
  local records, leases = put_off('HSET', TASKS), put_off('ZADD', LEASED)
  for at, one in ipairs(chosen) do
    local id, text, birth, born = one.id, texts[at], births[at], sub(one.member, 1, 19)
    local t = text and parse(text)
    if stands(born, text, t, birth) then
      local written = t and next_run(t, fence) or first_run(one, fence, born, birth)
      add_pair(records, id, written)
      add_pair(leases, ENDS_SCORE, id) -- guard LH-CLAIM-8
      if one.limit then take_slot(one, fence) end
      granted[#granted + 1] = id
      tell(id, text and not t and text or birth, written, t and t.side or '')
    else
      mend_entry(one, t)
      mended = mended + 1
    end
  end
  flush()
  count('repaired', mended) -- guard LH-LAPSE-8
  return fence, mended > 0
end

local function claim_runs(granted)
  local settings = call('HMGET', P .. 'queue', 'paused', 'parked_at', 'went_back')
  if settings[1] == '1' then return nil, false end -- guard LH-CLAIM-7
  if settings[2] then watch_clock(settings[2], settings[3]) end
  local newer, is_unfinished = wake_keys()
  local chosen, is_all = find_ready()
  count('skipped_newer', newer + passed_over) -- guard LH-OBS-1
  if #chosen == 0 then return nil, is_unfinished or not is_all end
  local fence, has_mended = grant_runs(granted, chosen)
  return fence, is_unfinished or not is_all or has_mended
end

-- What is left of a lease whose record is broken: it goes on to be decided about.
local function salvaged(one, birth)
  local t = newborn(birth or '')
  t.state = 'r'
  return t
end

local function grant_rescues(granted, chosen)
  local births = many(BIRTHS, ids_of(chosen))
  local fence, takeovers = draw(1), 0
  local records, leases = put_off('HSET', TASKS), put_off('ZADD', LEASED)
  for at, one in ipairs(chosen) do
    local t, id = one.t or salvaged(one, births[at]), one.id
    if t.state == 'q' then
      t.takeovers = format('%d', t.takeovers + 1) -- guard LH-LAPSE-9
      takeovers = takeovers + 1 -- guard LH-OBS-1
    end
    t.fence, t.state, t.ends, t.holder = fence, 'q', ENDS, holder
    local written = text_of(t)
    add_pair(records, id, written)
    add_pair(leases, ENDS_SCORE, id)
    granted[#granted + 1] = id
    tell(id, one.t and births[at] or one.text or '', written, t.side)
  end
  flush()
  count('takeovers', takeovers) -- guard LH-OBS-1
  count('lapsed', #chosen - takeovers) -- guard LH-OBS-1
  return fence
end

local function claim_rescues(granted)
  local chosen, is_all = find_lapsed()
  count('skipped_newer', passed_over) -- guard LH-OBS-1
  if #chosen == 0 then return nil, not is_all end
  return grant_rescues(granted, chosen), not is_all
end

local claimer, seq = ARGV[7], ARGV[8]
if claimer ~= '' then
  local record = call('HGET', P .. 'claims', claimer)
  if record then
    local newest = sub(record, 1, 20)
    if seq < newest then return { 's', NOW } end -- guard LH-CLAIM-9
    if seq == newest then return repeated(record) end -- guard LH-CLAIM-9
  end
end

-- Leases that lapse have to be taken also when memory is full: runs that end give some back.
begin_with_removal()
local granted = {}
local claim_all = ARGV[3] == 'r' and claim_runs or claim_rescues
local fence, more = claim_all(granted)
if more then reply[1] = '1' end -- guard LH-CLAIM-4
if claimer ~= '' and #granted > 0 then
  call('HSET', P .. 'claims', claimer, seq .. '\t' .. fence .. '\t' .. table.concat(granted, '\t')) -- guard LH-CLAIM-9
  call('ZADD', P .. 'claimed', now, claimer) -- guard LH-LAPSE-8
end
return reply
