-- configure: changes settings of a queue and answers all of them.
--
-- KEYS[1], ARGV[1], ARGV[2]  as in part/head.lua
-- ARGV[3]  how many settings, or - to read only; then each one's name and value
-- then the limit groups, each with its number
-- Reply: the settings, name by value, as a list; the limit groups with their numbers, as a list;
--        1 if the queue was new, else 0
-- Clauses: LH-CTL-1, LH-LIMIT-5, LH-LIMIT-6

local is_new = 0
if ARGV[3] ~= '-' then
  begin_with_removal()
  local first_group = 4 + 2 * tonumber(ARGV[3])
  is_new = call('HSETNX', KEYS[1], 'made', NOW)
  for at = 4, first_group - 1, 2 do call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end
  for at = first_group, #ARGV, 2 do call('HSET', P .. 'limits', ARGV[at], ARGV[at + 1]) end
  -- Every key with parked tasks is looked at again: its limit may have grown.
  if ARGV[first_group] and call('EXISTS', P .. 'keys') == 1 then
    call('ZUNIONSTORE', P .. 'keys', 1, P .. 'keys', 'WEIGHTS', 0) -- guard LH-LIMIT-5
  end
  call('PUBLISH', P .. 'wake', '')
end
return { call('HGETALL', KEYS[1]), call('HGETALL', P .. 'limits'), is_new }
