-- Ends an operation: final status, last events, index, tombstone and release of the lease are one write. Sent again by the
-- same owner, it answers as before. A running lab marks its user as provisioned, if that was part of its creation; no other
-- kind has the field `provisions`.
-- @include time events owner notes
-- KEYS: record (hash) events (stream) waiting (zset) owned (zset) deadlines (zset) lease (string) tombstone (string)
--   bell (stream) index (zset) provisioned (set) audit (zset)
-- ARGV: kind name op token seq events outcome fields tombstoneMs what result by noteMs
--   outcome: 'running' | 'failed' | 'gone'
--   what ('create' | 'delete'), result, by: for the audit log; by is '' without one; noteMs: how long the caller has to
--   write the audit line
-- returns: 1 or 0 (fenced)
local record, events, waiting, owned, deadlines, lease, tombstone, bell, index, provisioned, audit = unpack(KEYS)
local kind, name, op, token, seq, list, outcome, fields, tombstone_ms, what, result, by, note_ms = unpack(ARGV)

if fenced(record, op, token) then
  local ended = redis.call('HMGET', record, 'op', 'endedBy')
  local same = ended[1] == op and ended[2] == token
  return (same or (not ended[1] and redis.call('GET', tombstone) == op)) and 1 or 0
end
if redis.call('HGET', record, 'seq') ~= seq then
  return 0
end
append(events, op, tonumber(seq), list)
redis.call('ZREM', waiting, name)
redis.call('ZREM', owned, name)
redis.call('ZREM', deadlines, name)
if redis.call('GET', lease) == token then
  redis.call('DEL', lease)
end
if outcome == 'gone' then
  redis.call('DEL', record)
  redis.call('ZREM', index, name)
  redis.call('SET', tombstone, op, 'PX', tombstone_ms)
  redis.call('PEXPIRE', events, tombstone_ms)
else
  if outcome == 'running' and redis.call('HGET', record, 'provisions') == '1' then
    redis.call('SADD', provisioned, name)
  end
  redis.call('HDEL', record, 'plan', 'failing', 'provisions', 'by')
  set_fields(record, fields)
  redis.call('HSET', record, 'status', outcome, 'active', '0', 'token', '', 'endedBy', token,
    'seq', tonumber(seq) + #cjson.decode(list), 'failedAt', outcome == 'failed' and whole(now_ms()) or '')
  redis.call('ZADD', index, outcome == 'running' and 2 or 4, name)
end
note(audit, op, what, result, by, note_ms)
if outcome == 'failed' then
  ring(bell, 'failed', subject(kind, name), op)
end
ring(bell, 'ended', subject(kind, name), op)
return 1
