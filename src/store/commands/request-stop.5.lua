-- Notes the intent to stop a workload that is no lab, or refuses, as `cull-lab` does. The caller carries it out. If it does not,
-- the workload is due again when the time of its taker is over, and is looked at anew. `tell-stop` or `dismiss-due` tells of it.
-- Sent again, it answers as before.
-- @include time activity stops
-- KEYS: floor (hash) activity (hash) due (zset) slow (zset) stops (zset)
-- ARGV: identity id ask
--   ask: the request as JSON, `StopRequest` in idle.ts
-- returns: {'requested'} | {'changed'} | {'held'} | {'clock'}
local floor, activity, due, slow, stops = unpack(KEYS)
local identity, id, ask_json = unpack(ARGV)
local ask = cjson.decode(ask_json)
local keys = { floor = floor, activity = activity, due = due, slow = slow, stops = stops }
local stopping, by_score = unpack(redis.call('HMGET', activity, 'stopping', 'stopScore'))
if stopping and by_score == ask.score then
  return { 'requested' }
end
local refused = refusal(keys, identity, id, ask)
if refused then
  return { refused }
end
note_stop(keys, id, ask)
redis.call('HSET', activity, 'untold', ask.data)
return { 'requested' }
