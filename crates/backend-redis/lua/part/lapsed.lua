-- How a claim finds lapsed leases.
--
-- Clauses: LH-CLAIM-11, LH-LAPSE-1, LH-LAPSE-6, LH-LAPSE-8

local LAPSED_MAX = 10000
local LAPSED_PAGE = 200

-- Puts an entry right that its task does not bear out (LH-LAPSE-8). The search goes on, and the
-- entry is not under its place any more.
local function mend_lapse(id, t)
  call('ZREM', LEASED, id)
  if t and is_leased(t.state) then call('ZADD', LEASED, tonumber(t.ends), id) end -- guard LH-LAPSE-8
  count('repaired', 1) -- guard LH-LAPSE-8
  return true, true
end

-- What a claim does with one lapsed lease. False ends the search.
local function judge_lapsed(id, text)
  if not text then return mend_lapse(id) end
  local t = parse(text)
  if not t then
    choose({ id = id, text = text })
    return true
  end
  if not is_leased(t.state) then return mend_lapse(id, t) end -- guard LH-LAPSE-8
  if t.ends > NOW then return mend_lapse(id, t) end -- guard LH-LAPSE-1
  if not is_wanted(t.kind) then return true end
  if t.format > FORMAT then passed_over = passed_over + 1 return true end -- guard LH-CLAIM-11
  if not fits(t.size) then return false end
  choose({ id = id, t = t })
  return true
end

-- Where a search goes on that an earlier call could not end, behind many leases that it had no use
-- for; each call looks at some, so that none stands in the way of the others for ever.
local function search_from()
  return call('HGET', P .. 'queue', 'lapsed_from') or '-inf'
end

-- The lapsed leases that are decided about next; and whether none was left out.
local function find_lapsed()
  local from = search_from()
  local offset, page, seen_to = 0, max(most, LAPSED_PAGE), from
  for _ = 1, LAPSED_MAX / page do
    local found = call('ZRANGEBYSCORE', LEASED, from, now, 'WITHSCORES', 'LIMIT', offset, page)
    local ids = {}
    for at = 1, #found, 2 do ids[#ids + 1] = found[at] end
    for at, text in ipairs(many(TASKS, ids)) do
      if n_chosen == most then return chosen, false end
      local goes_on, is_gone = judge_lapsed(ids[at], text)
      if not goes_on then return chosen, false end
      if not is_gone then offset = offset + 1 end
      seen_to = found[2 * at]
    end
    if #ids < page then
      if from == '-inf' then return chosen, n_chosen < most end
      call('HDEL', P .. 'queue', 'lapsed_from')
      return chosen, false
    end
  end
  call('HSET', P .. 'queue', 'lapsed_from', seen_to)
  return chosen, false
end
