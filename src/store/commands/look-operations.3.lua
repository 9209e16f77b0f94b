-- What there is to own: operations that wait, oldest first; and of those owned all ends of leases, which are also beats.
-- @include time generation
-- KEYS: generation waiting owned
-- ARGV: identity limit
-- returns: {'comparing'} | {now, {user, op, …}, {user, end, …}}
if not compared(KEYS[1], ARGV[1]) then
  return { 'comparing' }
end
return { whole(now_ms()), redis.call('ZRANGE', KEYS[2], 0, ARGV[2] - 1, 'WITHSCORES'), redis.call('ZRANGE', KEYS[3], 0, -1, 'WITHSCORES') }
