-- Notes that somebody has logged in, unless he was revoked since he began to. Sent again, it notes the same once more.
-- @include time
-- KEYS: login (hash) logins (zset) epoch (string) revoked (string)
-- ARGV: hash begun lifeMs most user groups sealed
--   begun: the epoch when the login began
--   most: how many logins of the user may be left
--   groups: names as JSON; sealed: what only gateways can read
-- returns: {'revoked'} | {'created', when it ends in ms, hashes of the oldest logins beyond `most`, …}
local login, logins, epoch, revoked = unpack(KEYS)
local hash, begun, life_ms, most, user, groups, sealed = unpack(ARGV)
-- An epoch of a Redis that was emptied since must not outlive later revocations.
local since = math.min(tonumber(begun), tonumber(redis.call('GET', epoch) or 0))
if tonumber(redis.call('GET', revoked) or 0) > since then
  return { 'revoked' }
end
local now = now_ms()
local expires = whole(now + life_ms)
redis.call('HSET', login, 'user', user, 'groups', groups, 'sealed', sealed, 'createdMs', whole(now), 'expiresMs', expires,
  'epoch', whole(since), 'version', 1)
redis.call('PEXPIRE', login, life_ms)
for _, ended in ipairs(redis.call('ZRANGE', logins, '-inf', whole(now), 'BYSCORE')) do
  redis.call('ZREM', logins, ended)
end
redis.call('ZADD', logins, expires, hash)
redis.call('PEXPIRE', logins, math.max(tonumber(life_ms), redis.call('PTTL', logins)))
local answer = { 'created', expires }
local beyond = redis.call('ZCARD', logins) - most
if beyond > 0 then
  for _, oldest in ipairs(redis.call('ZRANGE', logins, 0, beyond - 1)) do
    answer[#answer + 1] = oldest
  end
end
return answer
