-- Says that somebody schedules, if the caller's token holds the lease. Sent again, it answers the same.
-- @include time
-- KEYS: lease (string) watched (string)
-- ARGV: token gapMs
--   gapMs: a longer time without such a word is a gap
-- returns: since when there was no gap, by Redis' clock | '' (another has the lease)
local lease, watched = unpack(KEYS)
local token, gap = unpack(ARGV)
if redis.call('GET', lease) ~= token then
  return ''
end
local since = redis.call('GET', watched) or whole(now_ms())
redis.call('SET', watched, since, 'PX', gap)
return since
