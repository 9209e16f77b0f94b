-- append(stream, op, seq, list): adds the pairs [type, data] of a JSON list to an operation's stream, as ids <op>-<seq>.
-- Returns the last seq. The ids have no gaps, so a reader sees what it missed.
local function append(stream, op, seq, list)
  for _, event in ipairs(cjson.decode(list)) do
    seq = seq + 1
    redis.call('XADD', stream, op .. '-' .. seq, 'event', event[1], 'data', event[2])
  end
  return seq
end

-- ring(bell, user, op, what): tells every replica. Ids count the rings, so a gap is noticed; the epoch tells a bell that
-- was lost and begun anew from the old one.
local function ring(bell, user, op, what)
  local last = redis.call('XREVRANGE', bell, '+', '-', 'COUNT', 1)[1]
  local n = last and tonumber(string.match(last[1], '^%d+')) + 1 or 1
  local epoch = last and last[2][2] or whole(now_ms())
  redis.call('XADD', bell, 'MAXLEN', '~', 4096, whole(n) .. '-1', 'epoch', epoch, 'user', user, 'op', op, 'what', what)
  redis.call('PEXPIRE', bell, 86400000)
end
