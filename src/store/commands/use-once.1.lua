-- Notes that something was used, which can be used once. Sent again by the same caller, it is his still.
-- KEYS: used (string)
-- ARGV: token keepMs
-- returns: 1 (his), or 0 if somebody else was first
local used, token, keep_ms = KEYS[1], ARGV[1], ARGV[2]
local first = redis.call('GET', used)
if first then
  return first == token and 1 or 0
end
redis.call('SET', used, token, 'PX', keep_ms)
return 1
