-- Lists containers that have ended and are kept, in the order of their ends, from a time on: for what each of them cost.
-- @include time generation events dispatch
-- KEYS: generation (hash)
-- ARGV: identity fromMs limit
-- returns: {'comparing'} | {'listed', {uuid, end in ms, field, value, …}, …}
local identity, from_ms, limit = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
local found = { 'listed' }
local fields = { 'shape', 'startedMs', 'finishedMs', 'instanceType', 'pricePerHour', 'state' }
local flat = redis.call('ZRANGE', keys.ended, from_ms, '+inf', 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
for i = 1, #flat, 2 do
  local line = { flat[i], flat[i + 1] }
  for j, value in ipairs(redis.call('HMGET', container_key(flat[i]), unpack(fields))) do
    line[#line + 1], line[#line + 2] = fields[j], value or ''
  end
  found[#found + 1] = line
end
return found
