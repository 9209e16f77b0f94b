-- draw(last, ...): a number that was never given out: above the last one, above Redis' time in microseconds, and above
-- every other number passed in. Time makes it hold when Redis lost `last`, since no script takes less than a microsecond,
-- so numbers never run ahead of it; `last` makes it hold when the clock stepped back.
local function draw(last, ...)
  local op = math.max(tonumber(redis.call('GET', last) or 0), now_us())
  for _, other in ipairs({ ... }) do
    op = math.max(op, tonumber(other) or 0)
  end
  local drawn = whole(op + 1)
  redis.call('SET', last, drawn)
  return drawn
end
