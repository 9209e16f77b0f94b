-- Takes workloads of one lane that are due, the longest due first: their new score, now + takeMs, is the token of the taker. After a lost
-- reply or the taker's death they are due again when that time is over. What is due later than any check may be was written
-- before Redis' clock went back, and counts as due.
-- @include time activity
-- KEYS: due (zset)
-- ARGV: takeMs limit farthestMs
-- returns: {now in ms, µs until the next one is due or '' (none), {id, score, lateMs, …}}
local due, take_ms, limit, farthest_ms = KEYS[1], unpack(ARGV)
local now = now_us()
local found = redis.call('ZRANGE', due, '-inf', whole(now), 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
local left = tonumber(limit) - #found / 2
if left > 0 then
  local ahead = '(' .. whole(now + farthest_ms * 1000)
  for _, each in ipairs(redis.call('ZRANGE', due, ahead, '+inf', 'BYSCORE', 'LIMIT', 0, left, 'WITHSCORES')) do
    found[#found + 1] = each
  end
end
local taken = {}
for i = 1, #found, 2 do
  -- The place in the list makes tokens of one moment differ.
  local score = whole(now + take_ms * 1000 + i)
  redis.call('ZADD', due, score, found[i])
  taken[#taken + 1], taken[#taken + 2] = found[i], score
  taken[#taken + 1] = whole(math.max(0, math.floor((now - tonumber(found[i + 1])) / 1000)))
end
if #taken > 0 then
  redis.call('PEXPIRE', due, activity_keep_ms)
end
local next = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
return { whole(math.floor(now / 1000)), next and whole(math.max(0, tonumber(next) - now)) or '', taken }
