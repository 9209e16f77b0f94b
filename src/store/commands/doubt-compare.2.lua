-- Ends a compare that settles nothing, since Redis' clock cannot be right: the reason is left for all replicas to read.
-- It is forgotten by itself, so the reason of a replica that died binds nobody.
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
