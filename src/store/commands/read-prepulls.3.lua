-- Reads the records of prepulling, and whether the caller's token holds the lease.
-- @include time
-- KEYS: lease (string) prepulled (hash) failures (hash)
-- ARGV: token
--   token: '' for a caller that only reads
-- returns: {held (1 or 0), now, {image, nodes, …}, {image, failure, …}}
local lease, prepulled, failures = unpack(KEYS)
local held = ARGV[1] ~= '' and redis.call('GET', lease) == ARGV[1]
return { held and 1 or 0, whole(now_ms()), redis.call('HGETALL', prepulled), redis.call('HGETALL', failures) }
