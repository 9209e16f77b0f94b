-- Takes what members want to be started. What a replica has taken and not ended in time, the next one takes.
-- @include time
-- KEYS: intents (hash)
-- ARGV: token limit forMs keepMs
--   token: of the replica, without spaces
--   forMs: how long it has for each
--   keepMs: older ones are forgotten
-- returns: id, when it was asked in ms, intent, …
local intents = KEYS[1]
local token, limit, for_ms, keep_ms = unpack(ARGV)
local answer = {}
local flat = redis.call('HGETALL', intents)
for i = 1, #flat, 2 do
  local id = flat[i]
  local at, taken, by, intent = string.match(flat[i + 1], '^(%d+) (%d+) (%S+) (.*)$')
  if not at or math.abs(now_ms() - tonumber(at)) > tonumber(keep_ms) then
    redis.call('HDEL', intents, id)
  elseif #answer < 3 * limit and (by == token or math.abs(now_ms() - tonumber(taken)) > tonumber(for_ms)) then
    redis.call('HSET', intents, id, table.concat({ at, whole(now_ms()), token, intent }, ' '))
    answer[#answer + 1] = id
    answer[#answer + 1] = at
    answer[#answer + 1] = intent
  end
end
return answer
