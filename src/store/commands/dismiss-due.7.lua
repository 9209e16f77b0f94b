-- Ends the checks of a workload that is gone or stopped, and forgets its incarnation. If its stop was requested, it was stopped
-- for the reason of this request, which is told unless it was. Sent again, it changes nothing.
-- @include time events activity activity-events
-- KEYS: due (zset) slow (zset) states (zset) activity (hash) floor (hash) told (stream) bell (stream)
-- ARGV: kind id
-- returns: how many sets had it
local due, slow, states, activity, floor, told, bell = unpack(KEYS)
local kind, id = unpack(ARGV)
local removed = 0
for _, set in ipairs({ due, slow, states }) do
  removed = removed + redis.call('ZREM', set, id)
end
if redis.call('HEXISTS', activity, 'stopping') == 1 then
  redis.call('HSET', activity, 'stopped', whole(now_ms()))
  tell_stop({ floor = floor, activity = activity, told = told, bell = bell }, kind, id)
end
forget_incarnation(activity)
return removed
