-- renew: extends leases that are current and have not lapsed.
--
-- KEYS[1], ARGV[1], ARGV[2]  as in part/head.lua
-- ARGV[3]  how many items; then each of 4 values: id, fence, ttl in ms, and the note behind a
--          +, or empty
-- Reply: now in ms, then for each item 'H' and the new end of its lease; 'S' when its slot was
--        swept; 'L' and the task record; 'M' and what is remembered of the task; 'G' for nothing;
--        'X' for a record that cannot be read
-- Clauses: LH-FENCE-2, LH-LAPSE-8, LH-OBS-1, LH-RENEW-1, LH-RENEW-2, LH-RENEW-3, LH-RENEW-4,
--          LH-RENEW-5, LH-RENEW-8, LH-RENEW-9, LH-TIME-5

local function told_lost(id, text)
  if text then return 'L' .. text_of(text) end
  local left = remembered(call('HGET', P .. 'left', id))
  return left and 'M' .. left or 'G'
end

local function renew(id, fence, ttl, note, text)
  local t, broken = seen(id, text)
  if broken then return 'X' end
  if not t then return told_lost(id) end
  if t.fence ~= fence then return told_lost(id, t) end -- guard LH-RENEW-2
  if t.ends <= NOW then return told_lost(id, t) end -- guard LH-RENEW-2
  if t.run == fence and not slot_stands(t, id, fence) then return 'S' end -- guard LH-RENEW-8
  local ends = after(ttl)
  ends = max(ends, tonumber(t.ends)) -- guard LH-RENEW-1
  t.ends = digits(ends)
  if note ~= '' then
    call('HSET', P .. 'note', id, sub(note, 2)) -- guard LH-RENEW-9
    t.side = '1' -- guard LH-RENEW-9
  end
  add_pair(put_off('HSET', TASKS), id, text_of(t))
  add_pair(put_off('ZADD XX', LEASED), ends, id) -- guard LH-LAPSE-8
  local limit = limit_of(t)
  if limit and t.run == fence then
    add_pair(put_off('ZADD XX', P .. 'slots:' .. limit), ends, slot_of(fence, id)) -- guard LH-RENEW-3
  end
  return 'H' .. t.ends
end

begin_with_removal()
local n = tonumber(ARGV[3])
local ids = {}
for at = 1, n do ids[at] = ARGV[4 + (at - 1) * 4] end
local texts = many(TASKS, ids)
local replies, lost = { NOW }, 0
for at = 1, n do
  local from = 4 + (at - 1) * 4
  local reply = renew(ids[at], ARGV[from + 1], tonumber(ARGV[from + 2]), ARGV[from + 3], texts[at])
  if sub(reply, 1, 1) ~= 'H' then lost = lost + 1 end
  replies[at + 1] = reply
end
flush()
count('lost_renews', lost) -- guard LH-OBS-1
return replies
