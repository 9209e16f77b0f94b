-- Tells that a workload is being stopped, once its caller has carried out what it requested. Sent again, it tells nothing.
-- @include time events activity activity-events
-- KEYS: floor (hash) activity (hash) told (stream) bell (stream)
-- ARGV: kind id score
--   score: that of the request
-- returns: 1 or 0 (another request stands by now, or none)
local floor, activity, told, bell = unpack(KEYS)
local kind, id, score = unpack(ARGV)
if redis.call('HGET', activity, 'stopScore') ~= score then
  return 0
end
tell_stop({ floor = floor, activity = activity, told = told, bell = bell }, kind, id)
return 1
