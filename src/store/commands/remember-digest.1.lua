-- Remembers the digest of a tag, or removes it if the registry has none.
-- @include digests
-- KEYS: digests (hash)
-- ARGV: keepMs maxDigests tag digest
-- digest: empty if there is none
-- returns: 1
local digests = KEYS[1]
local keep_ms, max_digests, tag, digest = unpack(ARGV)
remember(digests, tag, digest, max_digests)
redis.call('PEXPIRE', digests, keep_ms)
return 1
