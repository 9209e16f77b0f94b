-- Releases the lease of a task that belongs to no user.
-- KEYS: lease (string)
-- ARGV: token
-- returns: 1 (given back) or 0 (another holds it)
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
