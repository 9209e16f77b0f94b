-- Reads groups of containers that wait, after one of them.
-- @include time events generation dispatch
-- KEYS: generation (hash)
-- ARGV: identity after count
--   after: the id of a group, or ''
-- returns: {'comparing'} | {'read', id, shape or false, how many wait, …}; nothing after the last one
local identity, after, count = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
local answer = { 'read' }
local ids = redis.call('ZRANGE', keys.group_ids, after == '' and '-' or '(' .. after, '+', 'BYLEX', 'LIMIT', 0, count)
if #ids > 0 then
  for i, shape in ipairs(redis.call('HMGET', keys.groups, unpack(ids))) do
    answer[#answer + 1], answer[#answer + 2] = ids[i], shape
    answer[#answer + 1] = redis.call('ZCARD', group_key(ids[i]))
  end
end
return answer
