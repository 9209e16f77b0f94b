-- append(stream, op, seq, list): adds the pairs [type, data] of a JSON list to an operation's stream, as ids <op>-<seq>.
-- Returns the last seq. The ids have no gaps, so a reader notices missing events.
local function append(stream, op, seq, list)
  for _, event in ipairs(cjson.decode(list)) do
    seq = seq + 1
    redis.call('XADD', stream, op .. '-' .. seq, 'event', event[1], 'data', event[2])
  end
  return seq
end

-- subject(kind, name): a subject as text; `base/subject.ts` has the same.
local function subject(kind, name)
  return kind .. ':' .. name
end

-- lab(user): the subject of a user's lab.
local function lab(user)
  return subject('lab', user)
end

-- ring(bell, what, about, op): announces an event to every replica. `about` is the text of a subject; without it the
-- event concerns the installation. `what` is one of those in rings.ts. Ids count the rings, so a gap is noticed. The epoch
-- distinguishes a bell that was lost and begun anew.
-- `user` and an `op` are for the release before subjects. Both are removed one release later.
local function ring(bell, what, about, op)
  local last = redis.call('XREVRANGE', bell, '+', '-', 'COUNT', 1)[1]
  local n = last and tonumber(string.match(last[1], '^%d+')) + 1 or 1
  local epoch = last and last[2][2] or whole(now_ms())
  local entry = { 'epoch', epoch, 'user', string.match(about or '', '^lab:(.*)$') or '', 'op', op or '0', 'what', what }
  if about then
    entry[#entry + 1], entry[#entry + 2] = 'subject', about
  end
  redis.call('XADD', bell, 'MAXLEN', '~', 4096, whole(n) .. '-1', unpack(entry))
  redis.call('PEXPIRE', bell, 86400000)
end
