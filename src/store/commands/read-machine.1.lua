-- Reads a machine for its owner.
-- @include time events owner dispatch
-- KEYS: generation (hash)
-- ARGV: name op token
-- returns: {'fenced'} (another owner, or gone by proof) |
--   {'read', now, brief, hostKey, runnerHash, place, bootedMs, secretMs, missingSinceMs}; '' for what is not known
local name, op, token = unpack(ARGV)
local brief = redis.call('HGET', keys.briefs, name)
if fenced(machine_key(name), op, token) or not brief then
  return { 'fenced' }
end
local answer = { 'read', whole(now_ms()), brief }
for _, fact in ipairs(redis.call('HMGET', machine_key(name), 'hostKey', 'runnerHash', 'place', 'bootedMs', 'secretMs',
  'missingSinceMs')) do
  answer[#answer + 1] = fact or ''
end
return answer
