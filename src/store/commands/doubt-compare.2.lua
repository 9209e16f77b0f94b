-- Ends a compare that settles nothing because Redis' clock cannot be right. It leaves the reason for all replicas to read.
-- The reason expires, so that of a dead replica does not block the others.
-- KEYS: mark (string) doubt (string)
-- ARGV: mark reason keepMs
-- returns: 1 or 0 (overtaken)
local mark, doubt = unpack(KEYS)
local mark_value, reason, keep_ms = unpack(ARGV)
if redis.call('GET', mark) ~= mark_value then
  return 0
end
redis.call('SET', doubt, reason, 'PX', keep_ms)
redis.call('DEL', mark)
return 1
