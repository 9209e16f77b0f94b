-- Lists containers by age, after one of them. Expired ones are left out.
-- @include time events generation dispatch
-- KEYS: generation (hash) containers (zset)
-- ARGV: identity state after limit mostScanned mostBytes
--   state: '' for any
--   after: a uuid, or ''
--   mostBytes: of all records, about
-- returns: {'comparing'} | {'listed', the last one that was looked at, or '' if there are no more, {uuid, {field, value, …}, …}}
local generation, containers = unpack(KEYS)
local identity, state, after, limit, most_scanned, most_bytes = unpack(ARGV)
if not compared(generation, identity) then
  return { 'comparing' }
end
local found, bytes = {}, 0
local from = after == '' and '-' or '(' .. after
local uuids = redis.call('ZRANGE', containers, from, '+', 'BYLEX', 'LIMIT', 0, most_scanned)
for i, uuid in ipairs(uuids) do
  local key = container_key(uuid)
  local present = redis.call('HGET', key, 'state')
  if present and (state == '' or present == state) then
    local fields = {}
    local flat = redis.call('HGETALL', key)
    for j = 1, #flat, 2 do
      if flat[j] ~= 'spec' then
        fields[#fields + 1], fields[#fields + 2] = flat[j], flat[j + 1]
        bytes = bytes + #flat[j + 1]
      end
    end
    found[#found + 1], found[#found + 2] = uuid, fields
  end
  if #found >= 2 * tonumber(limit) or bytes > tonumber(most_bytes) then
    return { 'listed', uuid, found }
  end
end
return { 'listed', #uuids == tonumber(most_scanned) and uuids[#uuids] or '', found }
