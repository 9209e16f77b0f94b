-- Notes that a member wants an app to be started. Whoever serves apps checks that, and does it.
-- @include time events
-- KEYS: intents (hash) bell (stream)
-- ARGV: id againMs most keepMs intent
--   againMs: within this time the same is not noted again
--   most: how many may wait
--   intent: as JSON
-- returns: 'asked' | 'waits'
local intents, bell = unpack(KEYS)
local id, again_ms, most, keep_ms, intent = unpack(ARGV)
local at, _, _, standing = string.match(redis.call('HGET', intents, id) or '', '^(%d+) (%d+) (%S+) (.*)$')
local is_again = standing == intent and math.abs(now_ms() - tonumber(at)) < tonumber(again_ms)
if is_again or (not at and redis.call('HLEN', intents) >= tonumber(most)) then
  return 'waits'
end
redis.call('HSET', intents, id, whole(now_ms()) .. ' 0 - ' .. intent)
redis.call('PEXPIRE', intents, keep_ms)
ring(bell, 'intents', 'app:' .. id)
return 'asked'
