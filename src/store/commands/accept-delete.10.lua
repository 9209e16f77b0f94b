-- Accepts the deletion of a running or failed subject, or of one being created, whose operation it supersedes at the same
-- time. A deletion in progress is joined. Sent again with the same nonce, it answers as before.
-- @include time events draw generation notes deletion
-- KEYS: generation (hash) last (string) record (hash) events (stream) waiting (zset) deadlines (zset) bell (stream)
--   index (zset) nonce (string) audit (zset)
-- ARGV: identity kind name timeoutMs events supersededEvents nonceMs onlyIfOp requestId traceparent by noteMs
--   onlyIfOp: '' or the op that the record must have, with no operation running (for the controller's own deletions)
--   requestId, traceparent: of the request that it comes from, or ''
--   by: the origin for the audit log, or '' without one; noteMs: how long the caller has to write the audit line
-- returns: {'accepted', op} | {'accepted', op, superseded op, its acceptedAt, requestId, traceparent, by} |
--   {'joined', op} | {'none'} | {'comparing'} | {'ahead'} (no number can be drawn)
local generation, last, record, events, waiting, deadlines, bell, index, nonce, audit = unpack(KEYS)
local identity, kind, name, timeout, first, superseded, nonce_ms, only_if, request_id, traceparent, by, note_ms =
  unpack(ARGV)

if not compared(generation, identity) then
  return { 'comparing' }
end
local before = redis.call('GET', nonce)
if before then
  return { 'accepted', before }
end
local status, old, seq, active, accepted_at, old_request_id, old_traceparent, old_by = unpack(redis.call('HMGET', record,
  'status', 'op', 'seq', 'active', 'acceptedAt', 'requestId', 'traceparent', 'by'))
if not status then
  return { 'none' }
end
if status == 'terminating' then
  return { 'joined', old }
end
if only_if ~= '' and (only_if ~= old or active == '1') then
  return { 'none' }
end
local op = draw(last, old)
if not op then
  return { 'ahead' }
end
if active == '1' then
  append(events, old, tonumber(seq), superseded)
  ring(bell, 'ended', subject(kind, name), old)
  old_by = by_of(old, old_by)
  note(audit, old, 'create', 'superseded', old_by, note_ms)
end
local keys = { record = record, events = events, waiting = waiting, deadlines = deadlines, bell = bell, index = index,
  audit = audit }
start_deletion(keys, kind, name, op, timeout, first, request_id, traceparent, by, note_ms)
redis.call('SET', nonce, op, 'PX', nonce_ms)
if active == '1' then
  return { 'accepted', op, old, accepted_at, old_request_id, old_traceparent, old_by }
end
return { 'accepted', op }
