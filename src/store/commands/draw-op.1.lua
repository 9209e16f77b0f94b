-- Draws an op, also before the data were compared. It may stay unused.
-- @include time draw
-- KEYS: last (string)
-- returns: op, or nil (no number can be drawn)
return draw(KEYS[1])
