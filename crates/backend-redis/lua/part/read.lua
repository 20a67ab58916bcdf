-- A task as the read verbs answer it: id, birth record, task record or empty, whether there is a
-- note, the note, whether there is a result, the result, then its history, a line a record.

local function read_task(id, text, birth)
  birth = birth or call('HGET', BIRTHS, id)
  if not birth then return nil end
  text = text or call('HGET', TASKS, id)
  if not text then return { id, birth, '', '0', '', '0', '' } end
  if sub(text, 40, 40) < '4' or find('89ab', sub(text, 40, 40), 1, true) then
    return { id, birth, text, '0', '', '0', '' }
  end
  local note, result = call('HGET', P .. 'note', id), call('HGET', P .. 'result', id)
  local whole = { id, birth, text, note and '1' or '0', note or '', result and '1' or '0', result or '' }
  for at, line in ipairs(call('LRANGE', P .. 'history:' .. id, 0, -1)) do whole[7 + at] = line end
  return whole
end
