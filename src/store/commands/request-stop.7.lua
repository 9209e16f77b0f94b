-- Notes the intent to stop a workload that is no lab, or refuses, as `cull-lab` does. The caller carries it out. If it does not,
-- the workload is due again when the time of its taker is over, and is looked at anew. Sent again, it answers as before.
-- @include time events activity activity-events stops
-- KEYS: floor (hash) activity (hash) due (zset) slow (zset) stops (zset) told (stream) bell (stream)
-- ARGV: identity kind id ask
--   ask: the request as JSON, `StopRequest` in idle.ts
-- returns: {'requested'} | {'changed'} | {'held'} | {'clock'}
local floor, activity, due, slow, stops, told, bell = unpack(KEYS)
local identity, kind, id, ask_json = unpack(ARGV)
local ask = cjson.decode(ask_json)
local keys = { floor = floor, activity = activity, due = due, slow = slow, stops = stops, told = told, bell = bell }
local stopping, by_score = unpack(redis.call('HMGET', activity, 'stopping', 'stopScore'))
if stopping and by_score == ask.score then
  return { 'requested' }
end
local refused = refusal(keys, identity, id, ask)
if refused then
  return { refused }
end
note_stop(keys, id, ask)
tell_activity(keys, kind, id, 'stopping', ask.data)
return { 'requested' }
