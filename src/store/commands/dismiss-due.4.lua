-- Ends the checks of a workload that is gone or stopped, and forgets its incarnation. If its stop was requested, it was stopped
-- for the reason of this request. Sent again, it changes nothing.
-- @include time activity
-- KEYS: due (zset) slow (zset) states (zset) activity (hash)
-- ARGV: id
-- returns: how many sets had it
local due, slow, states, activity = unpack(KEYS)
local removed = 0
for _, set in ipairs({ due, slow, states }) do
  removed = removed + redis.call('ZREM', set, ARGV[1])
end
if redis.call('HEXISTS', activity, 'stopping') == 1 then
  redis.call('HSET', activity, 'stopped', whole(now_ms()))
end
forget_incarnation(activity)
return removed
