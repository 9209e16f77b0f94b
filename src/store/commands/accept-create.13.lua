-- Accepts the creation of a subject, such as a user's lab: of any number of simultaneous requests for one, one is accepted.
-- Sent again with the same nonce, it answers as before. A plan is accepted only if it is sealed with the named key, which
-- every replica that may own operations has.
-- @include time events draw generation sealing notes
-- KEYS: generation (hash) last (string) record (hash) events (stream) waiting (zset) deadlines (zset) bell (stream)
--   index (zset) tombstone (string) nonce (string) sealing (string) idempotency (string) audit (zset)
-- ARGV: identity kind name nonce timeoutMs plan view events idempotencyHash idempotencyMs nonceMs keepEventsMs sealingIds
--   keepSealingMs sealedWith requestId traceparent by noteMs [name value …]
--   requestId, traceparent: of the request that it comes from, or ''; for the logs and traces of the operation's owner
--   by: the origin for the audit log, or '' without one; noteMs: how long the caller has to write the audit line
--   name, value: fields that only this kind has
-- returns: {'accepted', op} | {'exists', status} | {'mismatch'} | {'comparing'} | {'sealed'} (with a key that is not ours) |
--   {'reseal', key} (the plan is sealed with another key than this one) | {'ahead'} (no number can be drawn)
local generation, last, record, events, waiting, deadlines, bell, index, tombstone, nonce, sealing, idempotency, audit = unpack(KEYS)
local identity, kind, name, nonce_value, timeout, plan, view, first, hash, idempotency_ms, nonce_ms, keep_ms, sealing_ids,
  keep_sealing_ms, sealed_with, request_id, traceparent, by, note_ms = unpack(ARGV)

if not compared(generation, identity) then
  return { 'comparing' }
end
local before = redis.call('GET', nonce)
if before then
  return { 'accepted', before }
end
if hash ~= '' then
  local first_answer = redis.call('GET', idempotency)
  if first_answer then
    local op, of = string.match(first_answer, '^(%d+) (.*)$')
    return of == hash and { 'accepted', op } or { 'mismatch' }
  end
end
local standing = redis.call('HMGET', record, 'status', 'op')
if standing[1] and standing[1] ~= 'failed' then
  return { 'exists', standing[1] }
end
local refusal = wrongly_sealed(sealing, sealing_ids, sealed_with)
if refusal then
  return refusal
end
local gone = redis.call('GET', tombstone)
local op = draw(last, standing[2], gone)
if not op then
  return { 'ahead' }
end
name_sealing(sealing, sealed_with, keep_sealing_ms)
local now = now_ms()
-- Streams of operations that ended long ago are removed; recent ones stay for their followers.
redis.call('XTRIM', events, 'MINID', whole(math.min(now_us() - keep_ms * 1000, tonumber(standing[2] or gone or op))))
redis.call('PERSIST', events)
redis.call('DEL', record, tombstone)
local seq = append(events, op, 0, first)
redis.call('HSET', record, 'op', op, 'kind', 'create', 'status', 'pending', 'active', '1', 'nonce', nonce_value,
  'token', '', 'claims', 0, 'attempts', 0, 'acting', '1', 'step', '', 'seq', seq, 'progress', 0,
  'acceptedAt', whole(now), 'deadline', whole(now + timeout), 'plan', plan, 'view', view,
  'requestId', request_id, 'traceparent', traceparent, 'by', keep_by(op, by), unpack(ARGV, 20))
note(audit, op, 'create', 'accepted', by, note_ms)
redis.call('ZADD', waiting, op, name)
redis.call('ZADD', deadlines, whole(now + timeout), name)
redis.call('ZADD', index, 1, name)
redis.call('SET', nonce, op, 'PX', nonce_ms)
if hash ~= '' then
  redis.call('SET', idempotency, op .. ' ' .. hash, 'PX', idempotency_ms)
end
ring(bell, 'accepted', subject(kind, name), op)
return { 'accepted', op }
