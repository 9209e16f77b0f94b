-- Draws ops in a row, and names the key to seal with: what is sealed is bound to its name, which comes from the op. Any of them
-- may stay unused.
-- @include time draw generation sealing
-- KEYS: generation (hash) last (string) sealing (string)
-- ARGV: identity count sealingIds
-- returns: {'drawn', first op, key} | {'comparing'} | {'sealed'} (with a key that is not ours) | {'ahead'} (no number can be drawn)
local generation, last, sealing = unpack(KEYS)
local identity, count, ids = unpack(ARGV)
if not compared(generation, identity) then
  return { 'comparing' }
end
if not may_open(sealing, ids) then
  return { 'sealed' }
end
local first = draw(last)
if not first then
  return { 'ahead' }
end
redis.call('SET', last, whole(first + count - 1))
return { 'drawn', first, sealing_key(sealing, ids) }
