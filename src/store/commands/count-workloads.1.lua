-- Counts workloads by what their last check found, at a cost that does not grow with their number. Only for metrics.
-- KEYS: states (zset)
-- ARGV: how many states there are
-- returns: {count, …}, from state 1 on
local counts = {}
for state = 1, tonumber(ARGV[1]) do
  counts[state] = redis.call('ZCOUNT', KEYS[1], state, state)
end
return counts
