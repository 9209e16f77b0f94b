-- Writes why the containers of groups wait, if the caller's token holds the lease. Sent again it writes the same.
-- @include time events dispatch
-- KEYS: generation (hash) lease (string)
-- ARGV: token [group sentence …]
--   sentence: '' to remove it
-- returns: 1 or 0 (another has the lease)
local generation, lease = unpack(KEYS)
if redis.call('GET', lease) ~= ARGV[1] then
  return 0
end
for i = 2, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', keys.statuses, ARGV[i])
  elseif redis.call('HEXISTS', keys.groups, ARGV[i]) == 1 then
    redis.call('HSET', keys.statuses, ARGV[i], ARGV[i + 1])
  end
end
return 1
