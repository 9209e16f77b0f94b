-- Lists the users whose lab is running, sorted.
-- @include generation
-- KEYS: generation (hash) index (zset)
-- ARGV: identity
-- returns: {'comparing'} | {'users', {user, …}}
if not compared(KEYS[1], ARGV[1]) then
  return { 'comparing' }
end
return { 'users', redis.call('ZRANGE', KEYS[2], 2, 2, 'BYSCORE') }
