-- Frees a lease that nobody extends: the observer saw its beat stand still for a whole TTL by its own clock.
-- KEYS: owned lease
-- ARGV: user beat
-- returns: 1 (free) or 0 (the beat moved)
if redis.call('ZSCORE', KEYS[1], ARGV[1]) ~= ARGV[2] then
  return 0
end
redis.call('DEL', KEYS[2])
return 1
