-- Drops what is kept of ended containers beyond the limits, some at once, and writes two of the limits, by which the other scripts
-- keep from here on. What waits or runs stays, with its output. Sent again, it goes on.
-- @include time generation events dispatch kept
-- KEYS: generation (hash)
-- ARGV: identity ms most mostBytes
--   ms: since the end; most: ended containers; mostBytes: of outputs and of ended containers
-- returns: how many were dropped; 0 when the limits hold; -1 while comparing
local identity, ms, most, most_bytes = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return -1
end
local dropped = keep_within({ since_ms = now_ms() - ms, most = tonumber(most), most_bytes = tonumber(most_bytes) })
local before = redis.call('HMGET', keys.kept, 'most', 'mostBytes')
-- Last, and only if they changed: a full Redis must be able to drop.
if before[1] ~= most or before[2] ~= most_bytes then
  redis.call('HSET', keys.kept, 'most', most, 'mostBytes', most_bytes)
end
return dropped
