-- may_open(sealing, ids): whether who has the keys `ids` opens what is sealed now. Where nobody has said what with, any
-- key will do.
local function may_open(sealing, ids)
  local id = redis.call('GET', sealing)
  return not id or string.find(' ' .. ids .. ' ', ' ' .. id .. ' ', 1, true) ~= nil
end

-- seal_with_first(sealing, ids, keep_ms): from now on plans are sealed with the first of `ids`.
local function seal_with_first(sealing, ids, keep_ms)
  redis.call('SET', sealing, string.match(ids, '^%S+'), 'PX', keep_ms)
end
