-- Counts workloads by what their last check found and by lane, at a cost that does not grow with their number. Only for metrics.
-- KEYS: states (zset) due (zset) slow (zset)
-- ARGV: how many states there are
-- returns: {count of state 1, …, count in due, count in slow}
local counts = {}
for state = 1, tonumber(ARGV[1]) do
  counts[state] = redis.call('ZCOUNT', KEYS[1], state, state)
end
counts[#counts + 1] = redis.call('ZCARD', KEYS[2])
counts[#counts + 1] = redis.call('ZCARD', KEYS[3])
return counts
