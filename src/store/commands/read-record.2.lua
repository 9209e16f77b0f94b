-- Reads a record and its tombstone even if the data were not compared: for the compare itself, and for judgements of pods.
-- @include time
-- KEYS: record (hash) tombstone (string)
-- returns: {{field, value, …}, tombstone or false, now}
return { redis.call('HGETALL', KEYS[1]), redis.call('GET', KEYS[2]), whole(now_ms()) }
