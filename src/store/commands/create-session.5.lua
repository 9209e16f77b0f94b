-- Notes that a login has entered an app, in place of a former session. Sent again, it notes the same once more.
-- KEYS: session (hash) login (hash) epoch (string) revoked (string) former (hash)
-- ARGV: appId appUid hash user lifeMs
--   hash: of the login
-- A session that takes the place of none names itself as the former one.
-- returns: 'created' | 'none' if there is no such login any more
local session, login, epoch, revoked, former = unpack(KEYS)
local app_id, app_uid, hash, user, life_ms = unpack(ARGV)
local of, since = unpack(redis.call('HMGET', login, 'user', 'epoch'))
local left = redis.call('PTTL', login)
if of ~= user or left <= 0 or tonumber(redis.call('GET', revoked) or 0) > tonumber(since or -1) then
  return 'none'
end
if former ~= session then
  redis.call('DEL', former)
end
redis.call('HSET', session, 'appId', app_id, 'appUid', app_uid, 'login', hash, 'epoch', redis.call('GET', epoch) or '0')
redis.call('PEXPIRE', session, math.min(tonumber(life_ms), left))
return 'created'
