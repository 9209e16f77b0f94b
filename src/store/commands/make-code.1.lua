-- Notes what a code leads to. Sent again, it notes the same once more.
-- KEYS: code (hash)
-- ARGV: appId appUid login user nonce lifeMs
--   login, nonce: their hashes
-- returns: 1
local app_id, app_uid, login, user, nonce, life_ms = unpack(ARGV)
redis.call('HSET', KEYS[1], 'appId', app_id, 'appUid', app_uid, 'login', login, 'user', user, 'nonce', nonce)
redis.call('PEXPIRE', KEYS[1], life_ms)
return 1
