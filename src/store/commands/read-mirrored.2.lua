-- Reads what Arvados is told of some containers, if the caller's token holds the lease.
-- @include time events generation dispatch kept containers
-- KEYS: generation (hash) lease (string)
-- ARGV: identity token [uuid …]
-- returns: {'comparing'} | {'lost'} (another has the lease) | {'read', machines that were not asked, now, fields or false, …}
--   fields: waits ('1' or ''), state, priority, attempts, startedMs, finishedMs, exitCode, trouble, pricePerHour, cancelled
if not compared(KEYS[1], ARGV[1]) then
  return { 'comparing' }
end
if redis.call('GET', KEYS[2]) ~= ARGV[2] then
  return { 'lost' }
end
local answer = { 'read', redis.call('HLEN', keys.unasked), whole(now_ms()) }
for i = 3, #ARGV do
  local values = redis.call('HMGET', container_key(ARGV[i]), 'state', 'priority', 'attempts', 'startedMs', 'finishedMs', 'exitCode',
    'trouble', 'pricePerHour', 'cancelled')
  if values[1] then
    local waiting = redis.call('HEXISTS', keys.waiting, ARGV[i]) == 1
    answer[#answer + 1] = { waiting and '1' or '', unpack(values) }
  else
    answer[#answer + 1] = false
  end
end
return answer
