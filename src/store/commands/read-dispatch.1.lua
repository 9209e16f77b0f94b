-- Reads a part of the machines, or of the groups of containers that wait.
-- @include time events generation dispatch
-- KEYS: generation (hash)
-- ARGV: identity what cursor count
--   what: 'machines' | 'groups'
-- returns: {'comparing'} | {'read', now, machines that were not asked, next cursor, {name, brief, …} or {id, shape, count, …}};
--   the last part has the cursor 0
local identity, what, cursor, count = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
local next_cursor, flat = unpack(redis.call('HSCAN', what == 'machines' and keys.briefs or keys.groups, cursor, 'COUNT', count))
local found = flat
if what == 'groups' then
  found = {}
  for i = 1, #flat, 2 do
    found[#found + 1], found[#found + 2] = flat[i], flat[i + 1]
    found[#found + 1] = redis.call('ZCARD', group_key(flat[i]))
  end
end
return { 'read', whole(now_ms()), redis.call('SCARD', keys.unasked), next_cursor, found }
