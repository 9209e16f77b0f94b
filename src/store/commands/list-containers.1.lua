-- Lists containers by age, after one of them. Of the indexes that have them all, the one with the fewest containers is read.
-- @include time generation events dispatch
-- KEYS: generation (hash)
-- ARGV: identity owner state after limit mostScanned mostBytes
--   owner, state: '' for any
--   after: a uuid, or ''
--   mostBytes: of all records, about
-- returns: {'comparing'} | {'listed', the last one that was looked at, or '' if there are no more, {uuid, {field, value, …}, …}}
local identity, owner, state, after, limit, most_scanned, most_bytes = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
local index = keys.all
for _, other in ipairs({ owner ~= '' and owner_key(owner) or keys.all, state ~= '' and state_key(state) or keys.all }) do
  if redis.call('ZCARD', other) < redis.call('ZCARD', index) then
    index = other
  end
end
local found, bytes = {}, 0
local from = after == '' and '-' or '(' .. after
local uuids = redis.call('ZRANGE', index, from, '+', 'BYLEX', 'LIMIT', 0, most_scanned)
for _, uuid in ipairs(uuids) do
  local key = container_key(uuid)
  local its_owner, its_state = unpack(redis.call('HMGET', key, 'owner', 'state'))
  if its_state and (owner == '' or its_owner == owner) and (state == '' or its_state == state) then
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
