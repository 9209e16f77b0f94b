-- Begins a compare of the table with the LNamespaces, or ends it: the outbox is whole if it was not lost meanwhile.
-- @include time
-- KEYS: lease (string) outbox (hash)
-- ARGV: token step
--   step: 'begin' | 'end'
-- returns: 1, or 0 if another has the lease, or the outbox was lost
local lease, outbox = unpack(KEYS)
local token, step = unpack(ARGV)
if redis.call('GET', lease) ~= token then
  return 0
end
if step == 'begin' then
  redis.call('HSET', outbox, ':compare', token)
  return 1
end
if redis.call('HGET', outbox, ':compare') ~= token then
  return 0
end
redis.call('HDEL', outbox, ':compare')
redis.call('HSET', outbox, ':complete', whole(now_ms()))
return 1
