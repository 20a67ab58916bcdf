-- The variadic loop, commit: removes the tasks that still show the fence.
-- KEYS[1] ready, KEYS[2] leased; ARGV[1] fence, then ids
-- Reply: how many
local fences = redis.call('HMGET', KEYS[1] .. ':fences', unpack(ARGV, 2))
local gone = {}
for at, fence in ipairs(fences) do
  if fence == ARGV[1] then gone[#gone + 1] = ARGV[at + 1] end
end
if #gone == 0 then return 0 end
redis.call('HDEL', KEYS[1] .. ':fences', unpack(gone))
redis.call('HDEL', KEYS[1] .. ':payload', unpack(gone))
redis.call('ZREM', KEYS[2], unpack(gone))
return #gone
