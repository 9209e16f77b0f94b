-- Reads a machine for its owner.
-- @include time generation events owner dispatch
-- KEYS: generation (hash)
-- ARGV: identity name op token
-- returns: {'comparing'} (the data are not compared yet: what they say of this owner may be old) |
--   {'fenced'} (another owner) | {'gone'} (by proof, and its operation is to end) |
--   {'read', now, brief, hostKey, place, missingSinceMs, [uuid, cancelled, …]}; '' for what is not known
--   cancelled: why this container of it is to be killed
local identity, name, op, token = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
local brief = redis.call('HGET', keys.briefs, name)
if fenced(machine_key(name), op, token) then
  return { 'fenced' }
end
if not brief then
  return { 'gone' }
end
local answer = { 'read', whole(now_ms()), brief }
for _, fact in ipairs(redis.call('HMGET', machine_key(name), 'hostKey', 'place', 'missingSinceMs')) do
  answer[#answer + 1] = fact or ''
end
for uuid in pairs(cjson.decode(brief).containers) do
  answer[#answer + 1], answer[#answer + 2] = uuid, redis.call('HGET', container_key(uuid), 'cancelled') or ''
end
return answer
