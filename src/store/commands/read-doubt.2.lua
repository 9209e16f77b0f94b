-- Reads why nothing can be drawn or settled now.
-- @include time draw
-- KEYS: last (string) doubt (string)
-- returns: {last if it is ahead of Redis' clock, else '', now, the reason that a compare left, or ''}
local found = redis.call('GET', KEYS[1]) or '0'
return { ahead(tonumber(found)) and found or '', whole(now_ms()), redis.call('GET', KEYS[2]) or '' }
