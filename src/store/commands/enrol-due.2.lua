-- Adds workloads that are not checked yet, spread evenly over a period. Those that are there keep their time.
-- @include time activity
-- KEYS: due (zset) slow (zset)
-- ARGV: periodMs seed id …
--   seed: a random number from 0 to 1, where the spread begins
-- returns: how many were added
local due, slow = unpack(KEYS)
local period_ms, seed = unpack(ARGV)
local now, count, added = now_us(), #ARGV - 2, 0
for i = 1, count do
  local id = ARGV[i + 2]
  if not redis.call('ZSCORE', slow, id) then
    local part = (tonumber(seed) + (i - 1) / count) % 1
    added = added + redis.call('ZADD', due, 'NX', whole(now + math.floor(part * period_ms * 1000)), id)
  end
end
redis.call('PEXPIRE', due, activity_keep_ms)
return added
