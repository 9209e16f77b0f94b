-- Reads some machines, or some groups of containers that wait.
-- @include time events generation dispatch
-- KEYS: generation (hash)
-- ARGV: identity what name …
--   what: 'machines' | 'groups'
-- returns: {'comparing'} | {'read', now, machines that were not asked, brief or false, …} |
--   {'read', now, machines that were not asked, shape or false, count, …}
local identity, what = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
local answer = { 'read', whole(now_ms()), redis.call('HLEN', keys.unasked) }
if #ARGV > 2 then
  local found = redis.call('HMGET', what == 'machines' and keys.briefs or keys.groups, unpack(ARGV, 3))
  for i, each in ipairs(found) do
    answer[#answer + 1] = each
    if what == 'groups' then
      answer[#answer + 1] = redis.call('ZCARD', group_key(ARGV[i + 2]))
    end
  end
end
return answer
