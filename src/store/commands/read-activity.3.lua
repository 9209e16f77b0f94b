-- Reads what is known of the activity of an incarnation. Raises the floor if it is that of another Redis, or ahead of now: after
-- a loss nobody counts as idle for longer than since then.
-- @include time activity activity-read
-- KEYS: floor (hash) activity (hash) flushed (hash)
-- ARGV: identity podUid behindMs forgetMs
--   behindMs, forgetMs: how long a gateway may be silent before it is behind, and before it is gone
-- returns: {now, floor, touches, is traffic untold (1 or 0), last, source, {field, value, …}}; no fields if nothing is known of
--   this incarnation
local floor, activity, flushed = unpack(KEYS)
local keys = { floor = floor, activity = activity, flushed = flushed }
return answer_read(keys, unpack(ARGV))
