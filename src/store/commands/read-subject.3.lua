-- Reads a subject with the events of its current operation. The plan is left out: it may be large, and only the owner needs it.
-- @include generation
-- KEYS: generation (hash) record (hash) events (stream)
-- ARGV: identity
-- returns: {'comparing'} | {'none'} | {'found', {field, value, …}, entries}
if not compared(KEYS[1], ARGV[1]) then
  return { 'comparing' }
end
local op = redis.call('HGET', KEYS[2], 'op')
if not op then
  return { 'none' }
end
local record, fields = redis.call('HGETALL', KEYS[2]), {}
for i = 1, #record, 2 do
  if record[i] ~= 'plan' then
    fields[#fields + 1], fields[#fields + 2] = record[i], record[i + 1]
  end
end
return { 'found', fields, redis.call('XRANGE', KEYS[3], op .. '-0', op) }
