-- Reads containers that wait: some of a group, in their turn, or some by their uuid.
-- @include time events generation dispatch
-- KEYS: generation (hash)
-- ARGV: identity [group from count …] | identity '' uuid …
-- returns: {'comparing'} | {'read', uuid, brief or false, …}
if not compared(KEYS[1], ARGV[1]) then
  return { 'comparing' }
end
local uuids = {}
if ARGV[2] == '' then
  uuids = { unpack(ARGV, 3) }
else
  for i = 2, #ARGV, 3 do
    local from, count = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
    for _, uuid in ipairs(redis.call('ZRANGE', group_key(ARGV[i]), from, from + count - 1)) do
      uuids[#uuids + 1] = uuid
    end
  end
end
local answer = { 'read' }
if #uuids > 0 then
  for i, brief in ipairs(redis.call('HMGET', keys.waiting, unpack(uuids))) do
    answer[#answer + 1], answer[#answer + 2] = uuids[i], brief
  end
end
return answer
