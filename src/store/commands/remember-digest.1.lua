-- Remembers the digest that the registry told of a tag, or forgets it where it told that there is none.
-- @include digests
-- KEYS: digests (hash)
-- ARGV: keepMs maxDigests tag digest
-- digest: empty where there is none
-- returns: 1
local digests = KEYS[1]
local keep_ms, max_digests, tag, digest = unpack(ARGV)
remember(digests, tag, digest, max_digests)
redis.call('PEXPIRE', digests, keep_ms)
return 1
