-- What there is to own: operations that wait, oldest first, without those that are held; those owned whose lease has
-- ended by this clock, or all of them, whose ends are also beats; and those past their deadline.
-- @include time generation
-- KEYS: generation waiting owned deadlines hold
-- ARGV: identity limit all passedHold
--   all: '1' for all that are owned
--   passedHold: a hold that this replica has seen stand for its whole time by its own clock
-- returns: {'comparing'} | {now, hold, {user, op, …}, {user, end, …}, {user, …}}
local generation, waiting, owned, deadlines, hold = unpack(KEYS)
local identity, limit, all, passed = unpack(ARGV)
if not compared(generation, identity) then
  return { 'comparing' }
end
local now = whole(now_ms())
local held = redis.call('GET', hold) or '0'
local above = held == passed and '-inf' or '(' .. held
return {
  now,
  held,
  redis.call('ZRANGE', waiting, above, '+inf', 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES'),
  redis.call('ZRANGE', owned, '-inf', all == '1' and '+inf' or now, 'BYSCORE', 'WITHSCORES'),
  redis.call('ZRANGE', deadlines, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit),
}
