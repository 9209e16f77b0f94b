-- Ends a refresh of the catalogue of images: writes the registry's content, or only that the attempt failed. A caller that
-- no longer holds the lease of refreshing writes nothing.
-- @include time digests
-- KEYS: lease (string) catalogue (hash) digests (hash)
-- ARGV: token keepMs maxDigests version body told
-- version: empty if the registry could not be read; told: a flat JSON list [tag, digest, …]; the digest of a tag that is
-- gone is empty
-- returns: 1 or 0 (another holds the lease)
local lease, catalogue, digests = unpack(KEYS)
local token, keep_ms, max_digests, version, body, told = unpack(ARGV)
if redis.call('GET', lease) ~= token then
  return 0
end
local now = whole(now_ms())
redis.call('HSET', catalogue, 'triedAt', now)
if version ~= '' then
  redis.call('HSET', catalogue, 'version', version, 'body', body, 'readAt', now)
end
local list = cjson.decode(told)
for i = 1, #list, 2 do
  remember(digests, list[i], list[i + 1], max_digests)
end
redis.call('PEXPIRE', catalogue, keep_ms)
redis.call('PEXPIRE', digests, keep_ms)
return 1
