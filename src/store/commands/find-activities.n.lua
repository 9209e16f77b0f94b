-- Reads all that is known of some workloads, for the API.
-- @include time activity
-- KEYS: for each workload: activity (hash)
-- returns: {{last, source, {field, value, …}}, …}
local answer = {}
for i, activity in ipairs(KEYS) do
  local last, source = latest(known_of(activity))
  answer[i] = { whole(last), source, redis.call('HGETALL', activity) }
end
return answer
