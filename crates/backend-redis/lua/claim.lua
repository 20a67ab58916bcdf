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

-- What the caller gets of one lease.
local function tell(reply, id, birth, written, side)
  local note = side ~= '' and call('HGET', P .. 'note', id)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = id, birth, written
  reply[n + 4] = note and '+' .. note or ''
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
  local fence, reply = fields(), { '0', NOW }
  for id in fields do
    local text = call('HGET', P .. 'task', id)
    local t = text and parse(text)
    if t and goes_on(t, id, fence) then
      tell(reply, id, call('HGET', P .. 'birth', id) or '', text, t.side)
    end
  end
  return reply
end

-- A task that was never claimed gets its record now, by what its place tells of it; its birth
-- record is not taken apart, which would cost more than all the rest.
local function first_run(one, fence, birth)
  local mark, limit, unique = sub(one.member, 22, 22), one.limit or '\t', ''
  if mark >= '2' then unique = newborn(birth).unique end
  return fence .. fence .. 'r' .. mark .. digits(ends) .. sub(one.member, 1, 19)
    .. '\t1\t0\t0\t0\t' .. format('%.0f', one.ready) .. '\t' .. one.lane.rank
    .. '\t\t\t\t\t\t\t0\t\t' .. sub(one.member, 20, 20) .. '\t' .. sub(one.member, 21, 21)
    .. '\t' .. one.lane.kind .. '\t' .. limit .. '\t' .. unique .. '\t' .. holder
end

local function next_run(t, fence)
  t.fence, t.run, t.state, t.ends, t.holder = fence, fence, 'r', digits(ends), holder
  t.attempt = format('%d', t.attempt + 1) -- guard LH-CLAIM-5
  return text_of(t)
end

-- Whether a candidate's task bears its place out (LH-LAPSE-8). Of what is broken the place is all
-- that is known, and it is granted as it is (LH-CLAIM-11).
local function stands(one, text, t, birth)
  if not birth then return false end
  if text and not t then return true end
  local born = sub(birth, 3, 21)
  if born ~= sub(one.member, 1, 19) and match(birth, BIRTH) then return false end -- guard LH-LAPSE-8
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
  later_pair('ZADD', P .. 'slots:' .. one.limit, ends, slot_of(fence, one.id)) -- guard LH-LIMIT-1
  later_pair('ZADD XX LT', P .. 'keys', ends, one.limit) -- guard LH-LIMIT-6
  later_pair('ZADD', P .. 'slotted', 0, one.limit) -- guard LH-LAPSE-8
end

-- Fence, run, attempt, lease end and slot in one step (LH-CLAIM-5).
local function grant_runs(reply, granted, chosen)
  local ids = ids_of(chosen)
  local texts, births = many(P .. 'task', ids), many(P .. 'birth', ids)
  local fence, mended = draw(1), 0
  for at, one in ipairs(chosen) do
    local text, birth = texts[at], births[at]
    local t = text and parse(text)
    if stands(one, text, t, birth) then
      local written = t and next_run(t, fence) or first_run(one, fence, birth)
      later_pair('HSET', P .. 'task', one.id, written)
      later_pair('ZADD', P .. 'leased', ends, one.id) -- guard LH-CLAIM-8
      if one.limit then take_slot(one, fence) end
      granted[#granted + 1] = one.id
      tell(reply, one.id, text and not t and text or birth, written, t and t.side or '')
    else
      mend_entry(one, t)
      mended = mended + 1
    end
  end
  flush()
  count('repaired', mended) -- guard LH-LAPSE-8
  return fence, mended > 0
end

local function claim_runs(reply, granted)
  local settings = call('HMGET', P .. 'queue', 'paused', 'parked_at', 'went_back')
  if settings[1] == '1' then return nil, false end -- guard LH-CLAIM-7
  if settings[2] then watch_clock(settings[2], settings[3]) end
  local newer, is_unfinished = wake_keys()
  local chosen, is_all = find_ready()
  count('skipped_newer', newer + passed_over) -- guard LH-OBS-1
  if #chosen == 0 then return nil, is_unfinished or not is_all end
  local fence, has_mended = grant_runs(reply, granted, chosen)
  return fence, is_unfinished or not is_all or has_mended
end

-- What is left of a lease whose record is broken: it goes on to be decided about.
local function salvaged(one, birth)
  local t = newborn(birth or '')
  t.state = 'r'
  return t
end

local function grant_rescues(reply, granted, chosen)
  local births = many(P .. 'birth', ids_of(chosen))
  local fence, takeovers = draw(1), 0
  for at, one in ipairs(chosen) do
    local t, id = one.t or salvaged(one, births[at]), one.id
    if t.state == 'q' then
      t.takeovers = format('%d', t.takeovers + 1) -- guard LH-LAPSE-9
      takeovers = takeovers + 1 -- guard LH-OBS-1
    end
    t.fence, t.state, t.ends, t.holder = fence, 'q', digits(ends), holder
    local written = text_of(t)
    later_pair('HSET', P .. 'task', id, written)
    later_pair('ZADD', P .. 'leased', ends, id)
    granted[#granted + 1] = id
    tell(reply, id, one.t and births[at] or one.text or '', written, t.side)
  end
  flush()
  count('takeovers', takeovers) -- guard LH-OBS-1
  count('lapsed', #chosen - takeovers) -- guard LH-OBS-1
  return fence
end

local function claim_rescues(reply, granted)
  local chosen, is_all = find_lapsed()
  count('skipped_newer', passed_over) -- guard LH-OBS-1
  if #chosen == 0 then return nil, not is_all end
  return grant_rescues(reply, granted, chosen), not is_all
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
local reply, granted = { '0', NOW }, {}
local claim_all = ARGV[3] == 'r' and claim_runs or claim_rescues
local fence, more = claim_all(reply, granted)
if more then reply[1] = '1' end -- guard LH-CLAIM-4
if claimer ~= '' and #granted > 0 then
  call('HSET', P .. 'claims', claimer, seq .. '\t' .. fence .. '\t' .. table.concat(granted, '\t')) -- guard LH-CLAIM-9
  call('ZADD', P .. 'claimed', now, claimer) -- guard LH-LAPSE-8
end
return reply
