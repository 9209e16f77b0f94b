-- Uses a code, which can be used once. Sent again by the same caller, it is his still.
-- KEYS: code (hash)
-- ARGV: token
-- returns: {} for one that is none, or was used | {appId, appUid, login, user, nonce}
local code, token = KEYS[1], ARGV[1]
local by, app_id, app_uid, login, user, nonce = unpack(redis.call('HMGET', code, 'by', 'appId', 'appUid', 'login', 'user', 'nonce'))
if not app_id or (by and by ~= token) then
  return {}
end
redis.call('HSET', code, 'by', token)
return { app_id, app_uid, login, user, nonce }
