-- enqueue: stores new tasks, all of the call or none.
--
-- KEYS[1], ARGV[1], ARGV[2]  as in part/head.lua
-- ARGV[3]  how many tasks; then each as in part/enter.lua
-- Reply: 'L' and a limit group that has no number, and nothing was done; else for each task
--        'E' fence, or 'D', cause (i or k), state of the holder or -, id of the holder; the
--        first value says whether the queue was new ('N') or not ('K')
-- Clauses: LH-ENQ-1, LH-ENQ-2, LH-ENQ-3, LH-ENQ-7, LH-ENQ-9, LH-FENCE-1, LH-OPER-11, LH-UNIQ-2,
--          LH-UNIQ-3

local n = tonumber(ARGV[3])
local unset = unset_group(4, n)
if unset then return { 'L' .. unset } end -- guard LH-ENQ-7

-- What memory may grow comes first: a store that is full refuses the call here, whole.
local first = draw(n)
local is_new = call('HSETNX', P .. 'queue', 'made', NOW) == 1

local ids = {}
for at = 1, n do ids[at] = ARGV[4 + (at - 1) * ITEM] end
local left = many(P .. 'left', ids)

local replies = { is_new and 'N' or 'K' }
for at = 1, n do
  replies[at + 1] = enter(new_task(4 + (at - 1) * ITEM), plus(first, at - 1), left[at])
end
if settle() then wake() end
return replies
