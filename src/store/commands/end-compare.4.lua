-- Ends a compare: every user is settled, so what this Redis holds may be believed from here on. Numbers go on above
-- whatever the cluster bears.
-- @include time events generation
-- KEYS: generation mark last bell
-- ARGV: identity mark highest found
-- returns: 1 or 0 (overtaken: begin again)
local generation, mark, last, bell = unpack(KEYS)
local identity, mark_value, highest, found = unpack(ARGV)
if redis.call('GET', mark) ~= mark_value then
  return 0
end
if tonumber(highest) > tonumber(redis.call('GET', last) or 0) then
  redis.call('SET', last, highest)
end
if not compared(generation, identity) then
  redis.call('HSET', generation, 'identity', identity, 'found', found)
  ring(bell, '', '0', 'compared')
end
redis.call('DEL', mark)
return 1
