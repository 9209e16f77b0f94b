-- Frees a lease that nobody extends: the observer saw its beat stand still for a whole TTL by its own clock. A lease that
-- another observer has just won, and not claimed with yet, is left alone, unless it lasts longer than any may.
-- KEYS: owned (zset) lease (string) record (hash)
-- ARGV: user beat ttlMs
-- returns: 1 (free) or 0 (the beat moved, or it is another's)
local owned, lease, record = unpack(KEYS)
local user, beat, ttl = unpack(ARGV)
if redis.call('ZSCORE', owned, user) ~= beat then
  return 0
end
local holder = redis.call('GET', lease)
-- Redis' clock stepped back: the end of what was won before is far away.
local overlong = redis.call('PTTL', lease) > tonumber(ttl)
if holder and holder ~= redis.call('HGET', record, 'token') and not overlong then
  return 0
end
redis.call('DEL', lease)
return 1
