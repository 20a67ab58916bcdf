-- The variadic loop, claim: a fence for the batch; its tasks' leases and payloads at a time.
-- KEYS[1] ready, KEYS[2] leased, KEYS[3] fence; ARGV[1] how many, ARGV[2] how long in ms
-- Reply: the fence, then id and payload in turn
local ids = redis.call('RPOP', KEYS[1], ARGV[1])
if not ids then return { '0' } end
local time = redis.call('TIME')
local ends = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
local fence = tostring(redis.call('INCR', KEYS[3]))
local payloads = redis.call('HMGET', KEYS[1] .. ':payload', unpack(ids))
local reply, fences, leases = { fence }, {}, {}
for at, id in ipairs(ids) do
  reply[at * 2], reply[at * 2 + 1] = id, payloads[at]
  fences[at * 2 - 1], fences[at * 2] = id, fence
  leases[at * 2 - 1], leases[at * 2] = ends, id
end
redis.call('HSET', KEYS[1] .. ':fences', unpack(fences))
redis.call('ZADD', KEYS[2], unpack(leases))
return reply
