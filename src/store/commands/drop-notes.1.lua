-- Removes notes of the audit log that were told.
-- KEYS: audit (zset)
-- ARGV: note …
-- returns: how many stood there
return redis.call('ZREM', KEYS[1], unpack(ARGV))
