-- Reads a lab with the events of its current operation.
-- @include generation
-- KEYS: generation record events
-- ARGV: identity
-- returns: {'comparing'} | {'none'} | {'lab', {field, value, …}, entries}
if not compared(KEYS[1], ARGV[1]) then
  return { 'comparing' }
end
local op = redis.call('HGET', KEYS[2], 'op')
if not op then
  return { 'none' }
end
return { 'lab', redis.call('HGETALL', KEYS[2]), redis.call('XRANGE', KEYS[3], op .. '-0', op) }
