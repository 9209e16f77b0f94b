-- Redis' own clock. Op numbers and deadlines use only this clock; the end of a lease never depends on it alone.
local function now_us()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

local function now_ms()
  return math.floor(now_us() / 1000)
end

-- Without this, whole numbers beyond 2^31 would be written in scientific notation.
local function whole(n)
  return string.format('%.0f', n)
end
