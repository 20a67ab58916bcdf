-- The variadic loop, enqueue: all payloads in one hash, ids in a list.
-- KEYS[1] ready; ARGV: id and payload in turn
local ids = {}
for at = 1, #ARGV, 2 do ids[#ids + 1] = ARGV[at] end
redis.call('HSET', KEYS[1] .. ':payload', unpack(ARGV))
redis.call('LPUSH', KEYS[1], unpack(ids))
return #ids
