-- Raises the counter of epochs and runs to an epoch that a machine has heard, as it proved by its secret: the next claim draws a
-- higher one. Sent again, it changes nothing.
-- @include time generation events draw owner dispatch
-- KEYS: generation (hash)
-- ARGV: identity name op token epoch
-- returns: {'comparing'} (the data are not compared yet: what they say of this owner may be old) |
--   {'raised'} | {'ahead'} (nobody can have drawn it: nothing is changed) | {'fenced'} (another owner, or gone by proof)
local identity, name, op, token, epoch = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
if fenced(machine_key(name), op, token) or not machine_of(name) then
  return { 'fenced' }
end
if ahead(tonumber(epoch)) then
  return { 'ahead' }
end
if tonumber(epoch) > tonumber(redis.call('GET', keys.runs) or 0) then
  redis.call('SET', keys.runs, epoch)
end
return { 'raised' }
