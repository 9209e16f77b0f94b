-- Begins a compare by writing its mark. Its settles and its end check the mark, so a compare that was overtaken, or began in
-- another Redis, writes nothing. If the data were not compared yet, the operations found are held until their former
-- owners have stopped.
-- @include time generation
-- KEYS: generation (hash) mark (string) last (string) hold (string)
-- ARGV: identity nonce markMs holdMs
-- returns: {needed (1 or 0), last, now}
local generation, mark, last, hold = unpack(KEYS)
local identity, nonce, mark_ms, hold_ms = unpack(ARGV)
local found = redis.call('GET', last) or '0'
local needed = not compared(generation, identity)
redis.call('SET', mark, nonce .. ' ' .. identity, 'PX', mark_ms)
if needed and found ~= '0' then
  redis.call('SET', hold, found, 'PX', hold_ms)
end
return { needed and 1 or 0, found, whole(now_ms()) }
