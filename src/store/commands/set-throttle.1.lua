-- Writes what the cloud's errors taught, unless another version stands. Sent again it writes the same.
-- KEYS: throttle (string)
-- ARGV: version throttle
-- returns: 1 or 0 (another version stands)
local standing = redis.call('GET', KEYS[1])
local text = string.format('%.0f', ARGV[1] + 1) .. ' ' .. ARGV[2]
if standing == text then
  return 1
end
if (standing and string.match(standing, '^%d+') or '0') ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], text)
return 1
