-- Nobody counts as idle for longer than since now: Redis' clock stepped.
-- @include time activity
-- KEYS: floor (hash)
-- ARGV: identity
-- returns: the floor
raise_floor(KEYS[1], ARGV[1])
return whole(now_ms())
