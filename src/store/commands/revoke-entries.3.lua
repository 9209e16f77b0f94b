-- Makes all logins of a user, or all sessions of an app, void that are older than this.
-- @include time events
-- KEYS: epoch (string) revoked (string) bell (stream)
-- ARGV: about keepMs
--   about: of the ring
--   keepMs: no login lasts longer
-- returns: the new epoch
local epoch, revoked, bell = unpack(KEYS)
local about, keep_ms = unpack(ARGV)
-- Time makes it greater than every epoch of a Redis that was emptied: none is drawn within a microsecond of another.
local drawn = whole(math.max(tonumber(redis.call('GET', epoch) or 0) + 1, now_us()))
redis.call('SET', epoch, drawn)
redis.call('SET', revoked, drawn, 'PX', keep_ms)
ring(bell, 'sessions', about)
return drawn
