-- Reserves the next time for a call of the cloud, for all replicas. Sent again, it reserves another one.
-- @include time
-- KEYS: calls (string)
-- ARGV: spaceUs mostUs
--   spaceUs: from one call to the next
-- returns: in how many microseconds it may be made, or nil if that is beyond mostUs: then nothing is reserved
local now = now_us()
local at = math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0))
if at - now > ARGV[2] + 2 * ARGV[1] then
  -- Redis' clock went back.
  at = now
end
if at - now > tonumber(ARGV[2]) then
  return nil
end
redis.call('SET', KEYS[1], whole(at + ARGV[1]), 'PX', whole(math.ceil((at - now + ARGV[1]) / 1000) + 1000))
return whole(at - now)
