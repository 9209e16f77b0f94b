-- Removes an entry of a table that gateways follow, if it is of this object. Nobody writes one of this object any more.
-- @include time events entries
-- KEYS: entries (hash) removed (string) bell (stream)
-- ARGV: name uid keepMs what about
--   keepMs: for how long it is known that this object is gone
--   what, about: of the ring
-- returns: 1 if there was one, else 0
local entries, removed, bell = unpack(KEYS)
local name, uid, keep_ms, what, about = unpack(ARGV)
redis.call('SET', removed, '1', 'PX', keep_ms)
local standing, text = standing_of(entries, name)
-- What cannot be read is nobody's.
if not text or (standing and standing.uid ~= uid) then
  return 0
end
redis.call('HDEL', entries, name)
changed(entries)
ring(bell, what, about)
return 1
