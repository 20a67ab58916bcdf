-- The plain loop, enqueue: a hash for each task, ids in a list.
-- KEYS[1] ready, ARGV: id and payload in turn
local ids = {}
for at = 1, #ARGV, 2 do
  redis.call('HSET', KEYS[1] .. ':' .. ARGV[at], 'payload', ARGV[at + 1])
  ids[#ids + 1] = ARGV[at]
end
redis.call('LPUSH', KEYS[1], unpack(ids))
return #ids
