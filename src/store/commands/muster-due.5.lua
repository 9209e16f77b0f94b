-- Makes the labs that are checked agree with those that run. Newcomers are spread evenly over a period, so that a whole
-- installation is not checked at once; the others keep their time.
-- @include time generation activity
-- KEYS: generation (hash) index (zset) due (zset) slow (zset) states (zset)
-- ARGV: identity periodMs seed
--   seed: a random number from 0 to 1, where the spread begins
-- returns: {'mustered', added, removed} | {'comparing'}
local generation, index, due, slow, states = unpack(KEYS)
local identity, period_ms, seed = unpack(ARGV)
if not compared(generation, identity) then
  return { 'comparing' }
end
local running, present, gone, newcomers = {}, {}, {}, {}
local names = redis.call('ZRANGE', index, 2, 2, 'BYSCORE')
for _, name in ipairs(names) do
  running[name] = true
end
for _, set in ipairs({ due, slow }) do
  for _, name in ipairs(redis.call('ZRANGE', set, 0, -1)) do
    present[name] = true
    if not running[name] then
      gone[#gone + 1] = name
    end
  end
end
for _, name in ipairs(names) do
  if not present[name] then
    newcomers[#newcomers + 1] = name
  end
end
for _, name in ipairs(gone) do
  for _, set in ipairs({ due, slow, states }) do
    redis.call('ZREM', set, name)
  end
end
local now = now_us()
for i, name in ipairs(newcomers) do
  local part = (tonumber(seed) + (i - 1) / #newcomers) % 1
  redis.call('ZADD', due, whole(now + math.floor(part * period_ms * 1000)), name)
end
for _, set in ipairs({ due, slow, states }) do
  redis.call('PEXPIRE', set, activity_keep_ms)
end
return { 'mustered', #newcomers, #gone }
