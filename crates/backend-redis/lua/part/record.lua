-- A task's two records and the places where it stands.
--
-- birth  hash id -> text, written by enqueue and rewritten only by an edit:
--        format TAB born TAB enqueued TAB due TAB rank TAB kind TAB group TAB key TAB unique
--        TAB bytes of the terms TAB terms payload
-- task   hash id -> text, missing until the first claim needs it:
--        fence(19) run(19) state(1) mark(1) until(15) born(19) TAB the fields below
-- Names hold no control characters, so a TAB ends each. A rank is 9 - priority, so that the
-- lowest is served first. The mark tells at a look what a commit must care for.
--
-- A waiting task stands in wait:RANK:KIND by the instant at which it is ready, as
-- born(19) format(1) size(1) mark(1) id [TAB group TAB key]; born comes first, so that equal
-- instants follow the order of enqueue (LH-CLAIM-3).
-- Clauses: LH-CLAIM-4, LH-ENQ-9, LH-LAPSE-1, LH-LAPSE-8, LH-LIMIT-6, LH-OPER-11, LH-PURGE-1,
--          LH-READ-2

local FIELDS = {
  'attempt', 'failures', 'rescues', 'takeovers', 'due', 'rank', 'held', 'shown', 'decision',
  'by', 'finished', 'expires', 'dropped', 'side', 'format', 'size', 'kind', 'group', 'key',
  'unique', 'holder',
}
local LIMITED, UNIQUE, SIDE, HELD = 1, 2, 4, 8
local NEVER = '000000000000000'

-- The fields of a task record; nil if that is broken.
local function parse(text)
  if sub(text, 75, 75) ~= '\t' then return nil end
  local t = {
    fence = sub(text, 1, 19), run = sub(text, 20, 38), state = sub(text, 39, 39),
    ends = sub(text, 41, 55), born = sub(text, 56, 74),
  }
  local n = 0
  for field in string.gmatch(sub(text, 76) .. '\t', '([^\t]*)\t') do
    n = n + 1
    if n > #FIELDS then return nil end
    t[FIELDS[n]] = field
  end
  if n < #FIELDS then return nil end
  return t
end

local function mark_of(t)
  local mark = 0
  if t.group ~= '' then mark = mark + LIMITED end
  if t.unique ~= '' then mark = mark + UNIQUE end
  if t.side ~= '' then mark = mark + SIDE end
  if t.held ~= '' then mark = mark + HELD end
  return format('%x', mark)
end

local function text_of(t)
  local parts = { t.fence .. t.run .. t.state .. mark_of(t) .. t.ends .. t.born }
  for n, field in ipairs(FIELDS) do parts[n + 1] = t[field] end
  return table.concat(parts, '\t')
end

-- The size of a record as a letter: the least power of two that holds it, 'a' for 1 byte.
local function size_of(bytes)
  local letter, room = 97, 1
  while room < bytes do letter, room = letter + 1, room * 2 end
  return string.char(letter)
end

local function bytes_of(size) return 2 ^ (string.byte(size) - 97) end

local BIRTH = '^([^\t])\t(%d+)\t(%d+)\t(%d+)\t(%d)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t(%d+)\t()'

-- A task that nothing has happened to yet, from its birth record. Of one that is broken there is
-- nothing but its id, and it still can be granted, shown and deleted (LH-CLAIM-11).
local function newborn(birth)
  local version, born, _, due, rank, kind, group, key, unique = match(birth, BIRTH)
  born = born or NONE
  return {
    fence = born, run = NONE, state = 'w', ends = NEVER, born = born, attempt = '0',
    failures = '0', rescues = '0', takeovers = '0', due = due or '0', rank = rank or '9',
    held = '', shown = '', decision = '', by = '', finished = '', expires = '', dropped = '0',
    side = '', format = version or FORMAT, size = size_of(#birth), kind = kind or '',
    group = group or '', key = key or '', unique = unique or '', holder = '',
  }
end

-- The task: as its record says, else as its birth does; nil if there is none, and then whether
-- there is a record that cannot be read. A payload is loaded only for a task that was never
-- claimed.
local function seen(id, text)
  if text then
    local t = parse(text)
    return t, not t
  end
  local birth = call('HGET', BIRTHS, id)
  if not birth then return nil, false end
  return newborn(birth)
end

-- What is remembered of a task that left, until its time is over (LH-ENQ-9).
local function remembered(text)
  if text and sub(text, 1, 15) <= NOW then return nil end -- guard LH-ENQ-9
  return text
end

-- What the slots of a limited task are counted under; nil for others.
local function limit_of(t)
  if t.group == '' then return nil end
  return t.group .. '\t' .. t.key
end

local function member_of(t, id)
  local mark = 0
  if t.group ~= '' then mark = mark + LIMITED end
  if t.unique ~= '' then mark = mark + UNIQUE end
  local member = t.born .. t.format .. t.size .. mark .. id
  if t.group ~= '' then member = member .. '\t' .. t.group .. '\t' .. t.key end
  return member
end

-- Not before it is due, nor before held until (LH-CLAIM-1, LH-OPER-11).
local function ready_of(t)
  local ready = tonumber(t.due)
  if t.held ~= '' then ready = max(ready, tonumber(t.held)) end -- guard LH-OPER-11
  return ready
end

local DONE = { s = 'succeeded', c = 'cancelled' }

local function done_of(state) return P .. 'done:' .. (DONE[state] or 'dead') end

local function is_leased(state) return state == 'r' or state == 'q' end

local function is_finished(state) return state ~= 'w' and not is_leased(state) end

-- A lane is the waiting tasks of one rank and kind; its score is no later than the instant at
-- which the first of them is ready, so that a claim looks only into lanes that may serve it.
local function wait_in(rank, kind, ready, member)
  local lane = rank .. ':' .. kind
  call('ZADD', P .. 'wait:' .. lane, ready, member)
  call('ZADD', P .. 'lanes', 'LT', ready, lane) -- guard LH-LAPSE-8
end

local function place(t, id)
  if t.state == 'w' then
    wait_in(t.rank, t.kind, ready_of(t), member_of(t, id))
  elseif is_leased(t.state) then
    call('ZADD', LEASED, tonumber(t.ends), id)
  else
    call('ZADD', done_of(t.state), 0, t.born .. id) -- guard LH-READ-2
    if t.expires ~= '' then call('ZADD', P .. 'expire', tonumber(t.expires), id) end -- guard LH-PURGE-1
  end
end

local unpark

-- Takes the task from where it stands, before its state or times change.
local function unplace(t, id)
  if t.state == 'w' then
    local lane, member = t.rank .. ':' .. t.kind, member_of(t, id)
    if call('ZREM', P .. 'wait:' .. lane, member) == 0 then
      unpark(t, member) -- guard LH-LIMIT-6
    elseif call('EXISTS', P .. 'wait:' .. lane) == 0 then
      call('ZREM', P .. 'lanes', lane) -- guard LH-LAPSE-8
    end
  elseif is_leased(t.state) then
    call('ZREM', LEASED, id) -- guard LH-LAPSE-8
  else
    call('ZREM', done_of(t.state), t.born .. id) -- guard LH-READ-2
    call('ZREM', P .. 'expire', id) -- guard LH-LAPSE-8
  end
end
