-- counts: how many tasks have each status, and the queue's event counters.
--
-- KEYS[1], ARGV[1], ARGV[2]  as in part/head.lua
-- Reply: ready, scheduled, leased, lapsed, succeeded, dead, cancelled; then each counter's name and
--        value
-- Clauses: LH-OBS-1, LH-READ-2, LH-READ-3

local ready, waiting = 0, 0
for _, lane in ipairs(call('ZRANGE', P .. 'lanes', 0, -1)) do
  waiting = waiting + call('ZCARD', P .. 'wait:' .. lane)
  ready = ready + call('ZCOUNT', P .. 'wait:' .. lane, '-inf', now)
end
-- What is parked was ready when it was parked; only a clock that went back makes it scheduled.
local parked = tonumber(call('GET', P .. 'parked') or 0)
local parked_ready = parked
if NOW < (call('HGET', P .. 'queue', 'parked_at') or '') then
  parked_ready = 0
  for _, key in ipairs(call('ZRANGE', P .. 'keys', 0, -1)) do
    local _, kinds = kinds_of(key)
    for _, kind in ipairs(kinds) do
      for rank = 0, 9 do
        parked_ready = parked_ready
          + call('ZCOUNT', P .. 'parked:' .. key .. '\t' .. kind, rank * RANK, rank * RANK + now)
      end
    end
  end
end
local leased = call('ZCARD', LEASED)
local lapsed = call('ZCOUNT', LEASED, '-inf', now)
local reply = {
  ready + parked_ready, waiting - ready + parked - parked_ready, leased - lapsed, lapsed,
  call('ZCARD', P .. 'done:succeeded'), call('ZCARD', P .. 'done:dead'), call('ZCARD', P .. 'done:cancelled'),
}
for _, value in ipairs(call('HGETALL', P .. 'events')) do reply[#reply + 1] = value end
return reply
