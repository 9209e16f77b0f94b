-- remember(digests, tag, digest, max): keeps the digest of a tag beside those of others; where there are `max` already, one
-- of them goes, whichever. An empty one is of a tag that is no more.
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
