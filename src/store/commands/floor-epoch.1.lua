-- Raises the counter of epochs and runs to an epoch that a machine has heard, as it proved by its secret: the next claim draws a
-- higher one. Sent again, it changes nothing.
-- @include time events draw owner dispatch
-- KEYS: generation (hash)
-- ARGV: name op token epoch
-- returns: {'raised'} | {'ahead'} (nobody can have drawn it: nothing is changed) | {'fenced'} (another owner, or gone by proof)
local name, op, token, epoch = unpack(ARGV)
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
