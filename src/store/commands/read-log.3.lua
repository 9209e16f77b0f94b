-- Reads output of a container after a place. A place beyond the end belongs to a log that was lost and begun anew: it is read from
-- its start.
-- @include time events generation dispatch
-- KEYS: generation (hash) head (stream) tail (stream)
-- ARGV: identity uuid place mostBytes
-- returns: {'comparing'} | {'none'} | {'unsure'} (machines were not asked yet, of which one may run it) |
--   {'log', all bytes so far, has it ended (1 or 0), is there more (1 or 0), entries, was all of it dropped (1 or 0)}
local generation, head, tail = unpack(KEYS)
local identity, uuid, place, most = unpack(ARGV)
if not compared(generation, identity) then
  return { 'comparing' }
end
local active, bytes, dropped = unpack(redis.call('HMGET', container_key(uuid), 'active', 'logBytes', 'logDropped'))
if not active then
  return { redis.call('HLEN', keys.unasked) > 0 and 'unsure' or 'none' }
end
bytes = bytes or '0'
if tonumber(place) > tonumber(bytes) then
  place = '0'
end
local found, size = {}, 0
local from = whole(tonumber(place) + 1) .. '-0'
for _, part in ipairs({ head, tail }) do
  for _, entry in ipairs(redis.call('XRANGE', part, from, '+', 'COUNT', 100)) do
    if size >= tonumber(most) or #found == 100 then
      return { 'log', bytes, active == '1' and 0 or 1, 1, found }
    end
    found[#found + 1] = entry
    size = size + tonumber(entry[2][6])
  end
end
local more = #found == 100 and 1 or 0
return { 'log', bytes, active == '1' and 0 or 1, more, found, dropped and 1 or 0 }
