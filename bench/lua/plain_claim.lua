-- The plain loop, claim: a fence for the batch; for each task its lease, attempt and payload.
-- KEYS[1] ready, KEYS[2] leased, KEYS[3] fence; ARGV[1] how many, ARGV[2] how long in ms
-- Reply: the fence, then id and payload in turn
local ids = redis.call('RPOP', KEYS[1], ARGV[1])
if not ids then return { '0' } end
local time = redis.call('TIME')
local ends = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
local fence = tostring(redis.call('INCR', KEYS[3]))
local reply, leases = { fence }, {}
for _, id in ipairs(ids) do
  local key = KEYS[1] .. ':' .. id
  redis.call('HSET', key, 'fence', fence)
  redis.call('HINCRBY', key, 'attempt', 1)
  reply[#reply + 1] = id
  reply[#reply + 1] = redis.call('HGET', key, 'payload')
  leases[#leases + 1] = ends
  leases[#leases + 1] = id
end
redis.call('ZADD', KEYS[2], unpack(leases))
return reply
