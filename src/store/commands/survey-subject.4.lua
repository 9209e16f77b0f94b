-- Reads the numbers of a subject in all keys, to find those that are ahead.
-- KEYS: record (hash) events (stream) tombstone (string) waiting (zset)
-- ARGV: name
-- returns: {op of the record, highest op of the stream, op of the tombstone, score in `waiting`, number of the last
--   claim by the record, number of the last run by the record, UID of the namespace by the record}; '0' for a missing number,
--   '' without UID
local newest = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
return {
  redis.call('HGET', KEYS[1], 'op') or '0',
  newest and string.match(newest[1], '^%d+') or '0',
  redis.call('GET', KEYS[3]) or '0',
  redis.call('ZSCORE', KEYS[4], ARGV[1]) or '0',
  redis.call('HGET', KEYS[1], 'epoch') or '0',
  redis.call('HGET', KEYS[1], 'run') or '0',
  redis.call('HGET', KEYS[1], 'nsUid') or '',
}
