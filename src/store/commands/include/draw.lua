-- ahead(op): true if a number is more than a day beyond Redis' clock, or too large for exact arithmetic. Redis never draws
-- such a number: it comes from a wrong clock, or from a forged label. Needs `time`.
local function ahead(op)
  return op > math.min(9007199254740991, now_us() + 86400000000)
end

-- draw(last, ...): a number that was never issued: above the last one, above Redis' time in microseconds, and above every
-- other number passed in. The time guarantees this when Redis lost `last`: no script takes less than a microsecond, so
-- numbers never run ahead of time. `last` guarantees it when the clock stepped back.
-- Returns nil, and changes nothing, if that number would be ahead: a script draws before it writes anything else.
local function draw(last, ...)
  local op = math.max(tonumber(redis.call('GET', last) or 0), now_us())
  for _, other in ipairs({ ... }) do
    op = math.max(op, tonumber(other) or 0)
  end
  if ahead(op + 1) then
    return nil
  end
  local drawn = whole(op + 1)
  redis.call('SET', last, drawn)
  return drawn
end
