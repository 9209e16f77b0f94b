-- A machine is gone by proof: each of its containers waits again or has ended, and the machine is forgotten. Its operation ends afterwards.
-- Refused unless the caller is the owner. Sent again, it changes nothing more.
-- @include time generation events owner dispatch kept containers machines
-- KEYS: generation (hash)
-- ARGV: identity name op token mostAttempts trouble
--   trouble: for containers that were sent
-- returns: {'comparing'} (the data are not compared yet: what they say of this owner may be old) |
--   {'gone'} | {'fenced'}
local identity, name, op, token, most_attempts, trouble = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
if fenced(machine_key(name), op, token) then
  return { 'fenced' }
end
local brief = machine_of(name)
if not brief then
  return { 'gone' }
end
spare_machine(brief)
for _, uuid in ipairs(containers_of(brief, true)) do
  lose(container_of(uuid), trouble, tonumber(most_attempts))
end
redis.call('HDEL', keys.briefs, name)
redis.call('HDEL', keys.ids, brief.instance)
is_asked(name)
ring(keys.bell, 'events', subject('instance', name))
return { 'gone' }
