-- The plain loop, commit: removes the tasks that still show the fence.
-- KEYS[1] ready, KEYS[2] leased; ARGV[1] fence, then ids
-- Reply: how many
local gone = {}
for at = 2, #ARGV do
  local key = KEYS[1] .. ':' .. ARGV[at]
  if redis.call('HGET', key, 'fence') == ARGV[1] then
    redis.call('DEL', key)
    gone[#gone + 1] = ARGV[at]
  end
end
if #gone > 0 then redis.call('ZREM', KEYS[2], unpack(gone)) end
return #gone
