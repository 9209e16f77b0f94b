-- remember(digests, tag, digest, max): keeps the digest of a tag. If there are `max` already, a random other one is removed.
-- An empty digest removes that of a tag that is gone.
local function remember(digests, tag, digest, max)
  if digest == '' then
    redis.call('HDEL', digests, tag)
    return
  end
  if redis.call('HEXISTS', digests, tag) == 0 and redis.call('HLEN', digests) >= tonumber(max) then
    redis.call('HDEL', digests, redis.call('HRANDFIELD', digests))
  end
  redis.call('HSET', digests, tag, digest)
end
