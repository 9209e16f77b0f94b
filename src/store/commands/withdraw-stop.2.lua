-- Takes back the intent to stop a workload, which could not be carried out: the fuse has its place again. Else one that changes
-- all the time, or that nobody can write, would take all places and keep the others from being stopped. Sent again, it changes
-- nothing.
-- KEYS: activity (hash) stops (zset)
-- ARGV: id score
--   score: that of the request
-- returns: how many places were given back
local activity, stops = unpack(KEYS)
local id, score = unpack(ARGV)
if redis.call('HGET', activity, 'stopScore') == score then
  redis.call('HDEL', activity, 'stopping', 'stop', 'stopped', 'stopScore', 'untold')
end
return redis.call('ZREM', stops, id .. ' ' .. score)
