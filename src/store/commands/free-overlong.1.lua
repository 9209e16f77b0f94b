-- Frees a lease that lasts longer than the TTL: Redis' clock stepped back, and nobody has extended the lease since.
-- KEYS: lease (string)
-- ARGV: ttlMs
-- returns: 1 (free) or 0 (it ends in time)
if redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[1]) then
  return 0
end
return redis.call('DEL', KEYS[1])
