-- Reads some machines.
-- @include time events generation dispatch
-- KEYS: generation (hash)
-- ARGV: identity [name …]
-- returns: {'comparing'} | {'read', now, machines that were not asked, brief or false, …}
if not compared(KEYS[1], ARGV[1]) then
  return { 'comparing' }
end
local answer = { 'read', whole(now_ms()), redis.call('HLEN', keys.unasked) }
if #ARGV > 1 then
  for _, brief in ipairs(redis.call('HMGET', keys.briefs, unpack(ARGV, 2))) do
    answer[#answer + 1] = brief
  end
end
return answer
