-- Gives one gateway the right to ask the identity source about a login, where its last word is old. Sent again, it gives the same
-- right again.
-- @include time
-- KEYS: login (hash) lock (string)
-- ARGV: token everyMs lockMs
--   everyMs: how long a word is not asked for again
-- returns: {'gone'} | {'fresh', ageMs} | {'busy', ageMs}, if another one is asking | {'ask', ageMs, user, groups, sealed}
local login, lock = unpack(KEYS)
local token, every_ms, lock_ms = unpack(ARGV)
local user, groups, sealed, created, checked = unpack(redis.call('HMGET', login, 'user', 'groups', 'sealed', 'createdMs', 'checkedMs'))
if not user then
  return { 'gone' }
end
local age = now_ms() - tonumber(checked or created or 0)
-- Redis' clock went back: nothing is known of the age.
if age < 0 then
  age = tonumber(every_ms) + 1
end
if age <= tonumber(every_ms) then
  return { 'fresh', whole(age) }
end
local holder = redis.call('GET', lock)
if holder and holder ~= token then
  return { 'busy', whole(age) }
end
redis.call('SET', lock, token, 'PX', lock_ms)
return { 'ask', whole(age), user, groups, sealed }
