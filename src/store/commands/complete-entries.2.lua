-- Marks a table that gateways follow as complete: whatever has no entry, is not there.
-- @include time events
-- KEYS: entries (hash) bell (stream)
-- ARGV: what
--   what: of the ring
-- returns: 1 if it was not complete before, else 0
local entries, bell = unpack(KEYS)
if redis.call('HEXISTS', entries, ':complete') == 1 then
  return 0
end
-- The time, so that a table that was lost and made again is another one.
redis.call('HSET', entries, ':complete', whole(now_us()))
ring(bell, ARGV[1])
return 1
