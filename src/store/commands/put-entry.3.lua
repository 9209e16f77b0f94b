-- Writes an entry of a table that gateways follow. Nothing older undoes it: neither a lower generation, nor an object that was
-- removed. Of two objects with one name the older, or the newer, has the entry. Sent again, it changes nothing more.
-- @include time events entries
-- KEYS: entries (hash) removed (string) bell (stream)
-- ARGV: name uid generation createdMs value prefers what about
--   value: the entry as JSON, with uid, generation and createdMs
--   prefers: 'oldest' | 'newest'
--   what, about: of the ring
-- returns: 'written' | 'same' | 'older'
local entries, removed, bell = unpack(KEYS)
local name, uid, generation, created_ms, value, prefers, what, about = unpack(ARGV)
if redis.call('EXISTS', removed) == 1 then
  return 'older'
end
local standing, text = standing_of(entries, name)
if standing and standing.uid == uid then
  if tonumber(generation) < standing.generation then
    return 'older'
  end
  if text == value then
    return 'same'
  end
elseif standing then
  local is_older = is_before(tonumber(created_ms), uid, standing.createdMs, standing.uid)
  if is_older ~= (prefers == 'oldest') then
    return 'older'
  end
end
redis.call('HSET', entries, name, value)
changed(entries)
ring(bell, what, about)
return 'written'
