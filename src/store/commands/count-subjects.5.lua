-- Counts the subjects of one kind by status and their operations by state, at a cost that does not grow with their number.
-- Only for metrics.
-- @include time generation
-- KEYS: generation (hash) index (zset) waiting (zset) owned (zset) deadlines (zset)
-- ARGV: identity
-- returns: {'counted', pending, running, terminating, failed, waiting, owned, overdue, longestWaitMs} | {'comparing'}
local generation, index, waiting, owned, deadlines = unpack(KEYS)

if not compared(generation, ARGV[1]) then
  return { 'comparing' }
end
local answer = { 'counted' }
for status = 1, 4 do
  answer[#answer + 1] = redis.call('ZCOUNT', index, status, status)
end
-- An op is drawn from Redis' time in microseconds.
local oldest = redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES')
local wait = oldest[2] and math.max(0, now_us() - tonumber(oldest[2])) or 0
answer[#answer + 1] = redis.call('ZCARD', waiting)
answer[#answer + 1] = redis.call('ZCARD', owned)
answer[#answer + 1] = redis.call('ZCOUNT', deadlines, '-inf', now_ms())
answer[#answer + 1] = math.floor(wait / 1000)
return answer
