-- Ends a compare: every user is settled, so the data of this Redis are trusted from here on. New numbers are above all
-- numbers in the cluster, except those that are ahead. Removes the doubt of an earlier compare.
-- @include time events generation draw
-- KEYS: generation (hash) mark (string) last (string) bell (stream) doubt (string)
-- ARGV: identity mark highest found
-- returns: 1 or 0 (overtaken: begin again)
local generation, mark, last, bell, doubt = unpack(KEYS)
local identity, mark_value, highest, found = unpack(ARGV)
if redis.call('GET', mark) ~= mark_value then
  return 0
end
if tonumber(highest) > tonumber(redis.call('GET', last) or 0) and not ahead(tonumber(highest)) then
  redis.call('SET', last, highest)
end
if not compared(generation, identity) then
  redis.call('HSET', generation, 'identity', identity, 'found', found)
  ring(bell, 'compared')
end
redis.call('DEL', mark, doubt)
return 1
