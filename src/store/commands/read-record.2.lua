-- Reads a record and its tombstone as they are, for a compare or a second judgement, which must not wait for a compare.
-- @include time
-- KEYS: record (hash) tombstone (string)
-- returns: {{field, value, …}, tombstone or false, now}
return { redis.call('HGETALL', KEYS[1]), redis.call('GET', KEYS[2]), whole(now_ms()) }
