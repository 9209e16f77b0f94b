-- Removes notes whose lines are in the audit log.
-- KEYS: audit (zset)
-- ARGV: note …
-- returns: how many existed
return redis.call('ZREM', KEYS[1], unpack(ARGV))
