-- Ends a login, and with it all sessions that began with it.
-- @include time events
-- KEYS: login (hash) logins (zset) bell (stream)
-- ARGV: hash
-- returns: 1 if there was one, else 0
local login, logins, bell = unpack(KEYS)
local was = redis.call('DEL', login)
redis.call('ZREM', logins, ARGV[1])
ring(bell, 'sessions', 'login:' .. ARGV[1])
return was
