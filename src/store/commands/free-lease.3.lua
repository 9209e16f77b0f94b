-- Frees a lease that is not extended: for the observer its beat has not changed for a whole TTL by its own clock. A lease
-- that another observer has just won, without a claim yet, is left alone unless it lasts longer than the TTL.
-- KEYS: owned (zset) lease (string) record (hash)
-- ARGV: name beat ttlMs
-- returns: 1 (free) or 0 (the beat has changed, or another holds the lease)
local owned, lease, record = unpack(KEYS)
local name, beat, ttl = unpack(ARGV)
if redis.call('ZSCORE', owned, name) ~= beat then
  return 0
end
local holder = redis.call('GET', lease)
-- After Redis' clock stepped back, the end of an earlier lease is far away.
local overlong = redis.call('PTTL', lease) > tonumber(ttl)
if holder and holder ~= redis.call('HGET', record, 'token') and not overlong then
  return 0
end
redis.call('DEL', lease)
return 1
