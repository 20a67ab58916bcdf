-- get: one task, or what is remembered of it.
--
-- KEYS[1], ARGV[1], ARGV[2]  as in part/head.lua
-- ARGV[3]  id
-- Reply: the task as in part/read.lua; or what is remembered of it as one text; or nothing
-- Clauses: LH-ENQ-9, LH-READ-1, LH-READ-3

local id = ARGV[3]
local whole = read_task(id)
if whole then return whole end
local left = remembered(call('HGET', P .. 'left', id))
if left then return { left } end -- guard LH-ENQ-9
return {}
