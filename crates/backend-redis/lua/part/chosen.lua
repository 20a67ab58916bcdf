-- What a claim asks for, and what it has chosen so far.
--
-- Clauses: LH-CLAIM-10

local most, ttl, holder = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local ends = after(ttl)
local ENDS, ENDS_SCORE = digits(ends), format('%.0f', ends)

local wanted
if ARGV[10] then
  wanted = {}
  for at = 10, #ARGV do wanted[ARGV[at]] = true end
end

local function is_wanted(kind)
  if wanted and not wanted[kind] then return false end -- guard LH-CLAIM-10
  return true
end

local chosen, n_chosen = {}, 0 -- in the order of service
local bytes_left = tonumber(ARGV[9])
local function choose(one)
  n_chosen = n_chosen + 1
  chosen[n_chosen] = one
end

local passed_over = 0 -- records of a newer format

-- Whether one more record fits into the reply; the first always does.
local function fits(size)
  local bytes = bytes_of(size)
  if n_chosen > 0 and bytes > bytes_left then return false end
  bytes_left = bytes_left - bytes
  return true
end

local function ids_of(list)
  local ids = {}
  for at, one in ipairs(list) do ids[at] = one.id end
  return ids
end
