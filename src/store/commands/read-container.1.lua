-- Reads a container, and why it waits.
-- @include time events generation dispatch
-- KEYS: generation (hash)
-- ARGV: identity uuid owner
--   owner: '' for the container of any owner
-- returns: {'comparing'} | {'none'} | {'unsure'} (machines were not asked yet, of which one may run it) |
--   {'found', {field, value, …}, status}; the specification is left out
if not compared(KEYS[1], ARGV[1]) then
  return { 'comparing' }
end
local flat, fields, known = redis.call('HGETALL', container_key(ARGV[2])), {}, {}
for i = 1, #flat, 2 do
  known[flat[i]] = flat[i + 1]
  if flat[i] ~= 'spec' then
    fields[#fields + 1], fields[#fields + 2] = flat[i], flat[i + 1]
  end
end
-- That of another owner is answered as one that there is not.
if not known.op or (ARGV[3] ~= '' and known.owner ~= ARGV[3]) then
  return { redis.call('HLEN', keys.unasked) > 0 and 'unsure' or 'none' }
end
local waiting = redis.call('HEXISTS', keys.waiting, ARGV[2]) == 1
return { 'found', fields, waiting and redis.call('HGET', keys.statuses, known.group) or '' }
