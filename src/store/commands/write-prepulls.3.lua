-- Writes records of prepulling, if the caller's token holds the lease. Sent again it writes the same.
-- KEYS: lease (string) prepulled (hash) failures (hash)
-- ARGV: token prepulled failures
--   prepulled, failures: {image: text, …} as JSON, '' for records to remove
-- returns: 1 (written) or 0 (another holds the lease)
local lease, token = KEYS[1], ARGV[1]
if redis.call('GET', lease) ~= token then
  return 0
end
for i = 2, 3 do
  for image, text in pairs(cjson.decode(ARGV[i])) do
    if text == '' then
      redis.call('HDEL', KEYS[i], image)
    else
      redis.call('HSET', KEYS[i], image, text)
    end
  end
end
return 1
