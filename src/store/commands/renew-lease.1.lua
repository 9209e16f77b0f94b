-- Renews the lease of a task that belongs to no user, while it is held.
-- KEYS: lease (string)
-- ARGV: token ttlMs
-- returns: 1 (renewed) or 0 (another holds it)
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
