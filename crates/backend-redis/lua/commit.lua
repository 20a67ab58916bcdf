-- commit: writes decisions whose guard is current, or late successes; each whole or not at all.
--
-- KEYS[1], ARGV[1], ARGV[2]  as in part/head.lua
-- ARGV[3]  how many records a history keeps
-- ARGV[4..7]  how long finished tasks stay unless the queue says otherwise, in ms, -1 for ever:
--          Succeeded, Cancelled, Dead, Dead(Lost)
-- ARGV[8]  how long an id is remembered unless the queue says otherwise, in ms
-- ARGV[9]  the cause of a plain success
-- ARGV[10] how many items
-- ARGV[11..]  the items. Each begins with its form, id, fence shown and decision; form p, a plain
--          success of a worker, says no more, form g goes on with
--            by (w, r, o), to (w, s, c, a letter of dead, = stay, x gone), when (u unchanged, or
--            a due time), budget (k keep, f failures + 1, r rescues + 1, 0 reset),
--            late (1: may be a late success), redrive (1), states that it may leave as letters,
--            its own retention in ms or empty, cause, result behind a + or empty,
--            edit (0 or 1), and for an edit payload behind a + or empty, rank or empty, due or
--            empty, terms or empty; the number of follow-ups; each as in part/enter.lua
-- Reply: now in ms; the first of the call's fences, one for each item and each follow-up in their
--        order; then for each item 'A', overdue (0 or 1) and late (0 or 1), alone or as a list
--        with the replies of its follow-ups; 'P' replayed; 'S', the state and
--        the fence now, '-' for a task that left; 'G' gone; 'C' and the holder of the unique key;
--        'I' and the state that does not admit the change; 'V' for terms of a newer format;
--        'N' and a limit group without a number; 'X' for a record that cannot be read
-- Clauses: LH-CLAIM-11, LH-COMMIT-1, LH-COMMIT-2, LH-COMMIT-3, LH-COMMIT-4, LH-COMMIT-5,
--          LH-COMMIT-6, LH-COMMIT-7, LH-COMMIT-8, LH-COMMIT-9, LH-COMMIT-10, LH-DEAD-2, LH-DEAD-3,
--          LH-DEAD-5, LH-ENQ-8, LH-ENQ-9, LH-FENCE-1, LH-FENCE-2, LH-GIVE-1, LH-LAPSE-8, LH-LATE-1,
--          LH-LATE-2, LH-LATE-3, LH-LATE-4, LH-LATE-5, LH-LIMIT-3, LH-LIMIT-6, LH-LIMIT-7, LH-OBS-1,
--          LH-OPER-5, LH-OPER-7, LH-OPER-11, LH-PURGE-1, LH-RENEW-9, LH-RETRY-5, LH-UNIQ-3, LH-UNIQ-4

local history_max = tonumber(ARGV[3])

-- Chunks of ids that one call forgets: more than one call remembers, so that none pile up.
local FORGET_MAX = 2
local events = {}
local woken = false

local function note(event, n) events[event] = (events[event] or 0) + (n or 1) end

-- ---- what a decision says

local function plain()
  return {
    by = 'w', to = 's', when = '', budget = 'k', late = '1', redrive = '0', admits = 'r', keep = '',
    cause = ARGV[9], result = '', follow_ups = 0,
  }
end

local function general(at)
  local change = {
    by = ARGV[at + 4], to = ARGV[at + 5], when = ARGV[at + 6], budget = ARGV[at + 7],
    late = ARGV[at + 8], redrive = ARGV[at + 9], admits = ARGV[at + 10], keep = ARGV[at + 11],
    cause = ARGV[at + 12], result = ARGV[at + 13],
  }
  local from = at + 15
  if ARGV[at + 14] == '1' then
    change.edit = { payload = ARGV[from], rank = ARGV[from + 1], due = ARGV[from + 2], terms = ARGV[from + 3] }
    from = from + 4
  end
  change.follow_ups, change.first_follow_up = tonumber(ARGV[from]), from + 1
  change.next = from + 1 + change.follow_ups * ITEM
  return change
end

-- ---- what is answered when nothing is written

local function was_applied(t, guard, decision)
  if t.shown ~= guard then return false end -- guard LH-COMMIT-4
  if t.decision ~= decision then return false end -- guard LH-COMMIT-6
  return true
end

local function replayed()
  note('replayed') -- guard LH-OBS-1
  return 'P'
end

local function refuse(t, id, guard, decision)
  if not t then
    local left = remembered(call('HGET', P .. 'left', id))
    if not left then return 'G' end
    t = { shown = sub(left, 16, 34), decision = sub(left, 37), fence = sub(left, 16, 34), state = '-', born = '' }
  end
  if was_applied(t, guard, decision) then return replayed() end -- guard LH-COMMIT-4
  if guard < t.born then return 'G' end -- guard LH-COMMIT-8
  note('stale_commits') -- guard LH-COMMIT-9
  return 'S' .. t.state .. t.fence
end

-- The unfinished task that holds the unique key which a redrive needs. It is another one: whoever
-- has finished holds none.
local function rival_of(t, change)
  return change.redrive == '1' and t.unique ~= '' and holder_of(t.unique)
end

local function edits_birth(edit) return edit and (edit.payload ~= '' or edit.terms ~= '') end

-- Why a current or late change is not written all the same; nil if it is. Whatever could fail is
-- looked at here: what `apply` has begun, it ends.
local function objection(t, id, change, current)
  if current and not find(change.admits, t.state, 1, true) then return 'I' .. t.state end -- guard LH-COMMIT-10
  if change.edit and change.edit.terms ~= '' and t.format > FORMAT then return 'V' end -- guard LH-CLAIM-11
  if edits_birth(change.edit) and not match(call('HGET', BIRTHS, id) or '', BIRTH) then return 'X' end
  local rival = rival_of(t, change)
  if rival then return 'C' .. rival end -- guard LH-UNIQ-4
  local unset = unset_group(change.first_follow_up or 0, change.follow_ups)
  if unset then return 'N' .. unset end -- guard LH-ENQ-8
end

-- ---- what is written

local KEEP_AT = { s = 4, c = 5, L = 7 }
local KEEP_NAME = { s = 'keep:succeeded', c = 'keep:cancelled', L = 'keep:lost' }
local keeps = {}

local function queue_keeps(state)
  local name = KEEP_NAME[state] or 'keep:dead'
  if not keeps[name] then keeps[name] = setting(name, ARGV[KEEP_AT[state] or 6]) end
  return keeps[name]
end

local function spend(t, budget)
  if budget == 'f' then
    t.failures = format('%d', t.failures + 1)
  elseif budget == 'r' then
    t.rescues = format('%d', t.rescues + 1)
    note('rescued') -- guard LH-OBS-1
  elseif budget == '0' then
    t.failures, t.rescues = '0', '0'
  end
end

-- New values for a waiting or dead task; a payload or terms rewrite the birth record.
local function rewrite(t, id, edit)
  if edit.rank ~= '' then t.rank = edit.rank end
  if edit.due ~= '' then t.due = format('%.0f', instant(edit.due)) end
  if not edits_birth(edit) then return end
  local birth = call('HGET', BIRTHS, id)
  local size, rest = select(10, match(birth, BIRTH))
  local terms, payload = sub(birth, rest, rest + size - 1), sub(birth, rest + size)
  if edit.payload ~= '' then payload = sub(edit.payload, 2) end
  local version, head = sub(birth, 1, 1), sub(birth, 2, rest - #size - 2)
  if edit.terms ~= '' then version, terms = FORMAT, edit.terms end
  birth = version .. head .. #terms .. '\t' .. terms .. payload
  t.format, t.size = version, size_of(#birth)
  call('HSET', BIRTHS, id, birth)
end

-- When purge may take a task that has just finished; nil is never. What an operator took away
-- keeps the record until the lease would have ended.
local function expiry(t, change)
  local keep = queue_keeps(t.state)
  if change.keep ~= '' then keep = tonumber(change.keep) end -- guard LH-PURGE-1
  if change.to == 'x' then keep = 0 end -- guard LH-OPER-7
  if keep < 0 then return nil end -- guard LH-DEAD-3
  local at = after(keep)
  if t.held ~= '' and tonumber(t.held) > now then at = max(at, tonumber(t.held)) end -- guard LH-OPER-11
  return at
end

-- Frees the unique key of a task that finishes, if it is still its own, and leaves to the next
-- holder what this one had to wait for.
local function free_key(t, id)
  if t.unique == '' then return end
  if call('HGET', P .. 'unique', t.unique) ~= id then return end -- guard LH-UNIQ-3
  call('HDEL', P .. 'unique', t.unique) -- guard LH-LAPSE-8
  if t.held ~= '' then call('ZADD', P .. 'inherit', 'GT', tonumber(t.held), t.unique) end -- guard LH-UNIQ-3
end

-- The first record stays, beside the newest ones.
local function shorten(t, key, n)
  while n > history_max do
    local first = call('LPOP', key)
    call('LPOP', key)
    n = call('LPUSH', key, first)
    t.dropped = format('%d', t.dropped + 1) -- guard LH-RETRY-5
  end
end

local function remember_history(t, id, change, guard)
  local key = P .. 'history:' .. id
  local n = call('RPUSH', key, NOW .. '\t' .. guard .. '\t' .. t.attempt .. '\t' .. change.cause)
  t.side = '1'
  if n > history_max then shorten(t, key, n) end -- guard LH-RETRY-5
end

local function write_result(t, id, change)
  call('HDEL', P .. 'result', id) -- guard LH-COMMIT-2
  if change.result ~= '' then call('HSET', P .. 'result', id, sub(change.result, 2)) end -- guard LH-COMMIT-2
end

-- Whether an operator ends a lease that its holder may still rely on.
local function takes_away(t, change)
  if change.by ~= 'o' then return false end -- guard LH-COMMIT-2
  if t.state ~= 'r' then return false end -- guard LH-OPER-11
  if t.ends <= NOW then return false end -- guard LH-OPER-11
  return true
end

-- The state, times and counters that the change leads to.
local function arrive(t, id, change, guard, decision, fence)
  if takes_away(t, change) then t.held = format('%.0f', max(tonumber(t.ends), tonumber(t.held ~= '' and t.held or 0))) end -- guard LH-OPER-11
  t.fence, t.shown, t.decision, t.by = fence, guard, decision, change.by
  t.ends, t.holder, t.takeovers = NEVER, '', '0'
  if change.by ~= 'r' then t.run = NONE end -- guard LH-LATE-5
  spend(t, change.budget)
  if change.edit then rewrite(t, id, change.edit) end
  if change.to == 'w' then
    t.state = 'w'
    if change.when ~= 'u' then t.due = format('%.0f', instant(change.when)) end
  elseif change.to == 'x' then
    t.state = 'c'
  elseif change.to ~= '=' then
    t.state = change.to
  end
  if change.to == '=' then return end
  t.expires = ''
  t.finished = is_finished(t.state) and NOW or ''
end

-- Only the holder frees a slot, by whatever it decides.
local function free_slot(t, id, change, guard)
  if change.by ~= 'w' then return end -- guard LH-LIMIT-7
  local limit = limit_of(t)
  local slots = P .. 'slots:' .. limit
  if call('ZREM', slots, slot_of(guard, id)) == 0 then return end
  if call('EXISTS', slots) == 0 then call('ZREM', P .. 'slotted', limit) end
end

-- All effects of a change in one step (LH-COMMIT-2). Nothing here may fail: what was written
-- before would stay.
local function apply(t, id, change, guard, decision, fence)
  unplace(t, id)
  local limit = limit_of(t)
  if limit then free_slot(t, id, change, guard) end -- guard LH-LIMIT-3
  -- Also without a slot: one that another of its key was parked for may be out of the way now.
  if limit then wake_key(limit) end -- guard LH-LIMIT-6
  woken = woken or limit ~= nil
  arrive(t, id, change, guard, decision, fence)
  if change.redrive == '1' then take_key(t, id) end -- guard LH-UNIQ-4
  if find('ERUKLCO', change.to, 1, true) then note('buried') end -- guard LH-OBS-1
  local leaves = false
  if change.to ~= 'w' and change.to ~= '=' then
    free_key(t, id) -- guard LH-UNIQ-3
    local expires = expiry(t, change)
    leaves = expires ~= nil and expires <= now
    t.expires = expires and format('%.0f', expires) or ''
  end
  if leaves then return leave(t, id, ARGV[8]) end -- guard LH-PURGE-1
  if change.budget == '0' then call('HDEL', P .. 'note', id) end -- guard LH-RENEW-9
  remember_history(t, id, change, guard)
  write_result(t, id, change)
  call('HSET', TASKS, id, text_of(t))
  place(t, id)
  woken = woken or (t.state == 'w' and ready_of(t) <= now)
end

local function follow(change, fence)
  if change.follow_ups == 0 then return nil end
  -- A follow-up must find the ids of those that left to be free, or remembered.
  flush() -- guard LH-ENQ-8
  local replies = {}
  for n = 1, change.follow_ups do
    local new = new_task(change.first_follow_up + (n - 1) * ITEM)
    replies[n + 1] = enter(new, plus(fence, n), call('HGET', P .. 'left', new.id))
  end
  woken = settle() or woken
  return replies
end

local gone, gone_of_all = put_off('ZREM', LEASED), put_off('ZREM', ALL)
gone.also = { [BIRTHS] = 'HDEL', [TASKS] = 'HDEL' }

-- A plain success of an unlimited task that leaves nothing: its record is compared, not parsed.
local function leave_plainly(text, id, guard, decision)
  add(gone, id)
  add(gone_of_all, sub(text, 56, 74) .. id)
  remember(id, guard .. 'sw' .. decision, ARGV[8])
end

local plain_heads = {} -- fence shown -> how the record begins

local function is_plain(text, guard)
  if not text or queue_keeps('s') ~= 0 then return false end
  local head = plain_heads[guard]
  if not head then
    head = guard .. guard .. 'r0'
    plain_heads[guard] = head
  end
  return sub(text, 1, 40) == head
end

-- Whether a change that shows another fence than the current one is let in all the same.
local function is_late(t, change, guard)
  if change.late ~= '1' then return false end -- guard LH-LATE-2
  if guard == NONE then return false end -- guard LH-COMMIT-1
  if t.run ~= guard then return false end -- guard LH-LATE-1
  return true
end

local function is_overdue(t, change, current)
  if not current then return false end -- guard LH-LATE-1
  if change.by == 'o' then return false end -- guard LH-COMMIT-7
  if t.ends > NOW then return false end -- guard LH-COMMIT-7
  note('overdue') -- guard LH-OBS-1
  return true
end

local function commit(at, change, text, first, offset)
  local id, guard, decision = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  if not change and is_plain(text, guard) then
    local overdue = sub(text, 41, 55) <= NOW
    if overdue then note('overdue') end -- guard LH-OBS-1
    leave_plainly(text, id, guard, decision)
    return overdue and 'A10' or 'A00'
  end
  change = change or plain()
  local t, broken = seen(id, text)
  if broken then return 'X' end
  if not t then return refuse(nil, id, guard, decision) end
  local current = t.fence == guard
  local late = not current and is_late(t, change, guard)
  if not current and not late then return refuse(t, id, guard, decision) end -- guard LH-COMMIT-1
  local stopped = objection(t, id, change, current)
  if stopped then return stopped end
  local overdue = is_overdue(t, change, current)
  if late then note('late') end -- guard LH-OBS-1
  local fence = plus(first, offset)
  apply(t, id, change, guard, decision, fence)
  local head = 'A' .. (overdue and '1' or '0') .. (late and '1' or '0')
  local reply = follow(change, fence)
  if not reply then return head end
  reply[1] = head
  return reply
end

begin_with_removal()
local n = tonumber(ARGV[10])
local at, ids, starts, changes, offsets = 11, {}, {}, {}, {}
local values = 0
for i = 1, n do
  ids[i], starts[i], offsets[i] = ARGV[at + 1], at, values
  local change = ARGV[at] == 'g' and general(at)
  changes[i] = change
  at = change and change.next or at + 4
  values = values + 1 + (change and change.follow_ups or 0)
end
-- One value an item and a follow-up: one may bear the id of another that has just left, and they
-- are served in the order in which they were given.
local first = draw(values)
local texts = many(TASKS, ids)
local replies = { NOW, first }
for i = 1, n do
  replies[i + 2] = commit(starts[i], changes[i], texts[i], first, offsets[i])
end
flush()
note_leaving()
forget(FORGET_MAX)
for event, times in pairs(events) do count(event, times) end
if woken then wake() end
return replies
