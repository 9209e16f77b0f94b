-- Notes that what the containers need could not keep up just now.
-- @include time
-- KEYS: overload (string)
-- ARGV: keepMs
-- returns: 1
redis.call('SET', KEYS[1], whole(now_ms()), 'PX', ARGV[1])
return 1
