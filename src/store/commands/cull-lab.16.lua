-- Stops a lab that nobody uses, or refuses: one script settles. It must run without an operation, as the incarnation that was
-- decided on, and be the caller's; nobody came since the look, its owner was warned, its time is over, Redis' clock has not
-- stepped, and the fuse has room. From here on it is any deletion. Sent again, it answers as before.
-- @include time events draw generation notes deletion activity activity-events stops
-- KEYS: generation (hash) last (string) record (hash) events (stream) waiting (zset) deadlines (zset) bell (stream)
--   index (zset) audit (zset) floor (hash) activity (hash) due (zset) slow (zset) states (zset) stops (zset) told (stream)
-- ARGV: identity user op ask events timeLimitMs by
--   ask: the request as JSON, `StopRequest` in idle.ts
--   events: the first ones of the deletion
--   by: the origin of the deletion for the audit log, or '' without one
-- returns: {'requested', op} | {'changed'} | {'held'} | {'clock'} | {'comparing'} | {'ahead'} (no number can be drawn)
local generation, last, record, events, waiting, deadlines, bell, index, audit, floor, activity, due, slow, states, stops, told = unpack(KEYS)
local identity, user, op, ask_json, first, time_limit, by = unpack(ARGV)
local ask = cjson.decode(ask_json)

if not compared(generation, identity) then
  return { 'comparing' }
end
local status, active, of, uid = unpack(redis.call('HMGET', record, 'status', 'active', 'op', 'podUid'))
if status == 'terminating' and redis.call('HGET', activity, 'stopScore') == ask.score then
  return { 'requested', of }
end
if status ~= 'running' or active == '1' or of ~= op or uid ~= ask.podUid then
  return { 'changed' }
end
local keys = { record = record, events = events, waiting = waiting, deadlines = deadlines, bell = bell, index = index,
  audit = audit, floor = floor, activity = activity, due = due, slow = slow, stops = stops, told = told }
local refused = refusal(keys, identity, user, ask)
if refused then
  return { refused }
end
local deletion = draw(last, op)
if not deletion then
  return { 'ahead' }
end
note_stop(keys, user, ask)
redis.call('HSET', activity, 'stopped', whole(now_ms()))
for _, set in ipairs({ due, slow, states }) do
  redis.call('ZREM', set, user)
end
start_deletion(keys, 'lab', user, deletion, time_limit, first, '', '', by, 0)
-- It names the op, so that later operations need not clear it.
redis.call('HSET', record, 'cull', deletion .. ' ' .. whole(now_ms()))
tell_activity(keys, 'lab', user, 'stopping', ask.data)
return { 'requested', deletion }
