-- Reads the catalogue of images, with its body only if the caller has another version.
-- @include time
-- KEYS: catalogue (hash)
-- ARGV: version
-- returns: {version, body or false, ms since the registry was read, ms since it was last asked}; false for a missing value
local found = redis.call('HMGET', KEYS[1], 'version', 'readAt', 'triedAt')
local version, read_at, tried_at = unpack(found)
local body = version and version ~= ARGV[1] and redis.call('HGET', KEYS[1], 'body')
return {
  version,
  body,
  read_at and whole(now_ms() - read_at),
  tried_at and whole(now_ms() - tried_at),
}
