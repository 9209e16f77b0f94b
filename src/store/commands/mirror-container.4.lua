-- Accepts a container of Arvados, which waits from here on, and remembers by which uuid of ours. Nothing is written unless the
-- caller's token holds the lease. One of Arvados has one of ours at a time: sent again, it answers `known`.
-- @include time events generation sealing dispatch kept containers
-- KEYS: generation (hash) lease (string) sealing (string) mirrored (hash)
-- ARGV: identity token theirs uuid op owner sealedWith sealingIds keepSealingMs mostInAll mostBytesInAll view spec group shape
--   priority
--   theirs: the uuid in Arvados
--   uuid, op: drawn by `draw-ops` for this caller alone
--   mostInAll, mostBytesInAll: as `accept-container` has them; one owner has all of Arvados', so it has no share
-- returns: {'mirrored', uuid} | {'known', uuid} | {'full'} | {'comparing'} | {'lost'} (another has the lease) |
--   {'unsure'} (machines that may run it were not asked yet) | {'sealed'} (with a key that is not ours) |
--   {'reseal', key} (it is sealed with another key than this one)
local generation, lease, sealing, mirrored = unpack(KEYS)
local identity, token, theirs, uuid, op, owner, sealed_with, sealing_ids, keep_sealing_ms, most_in_all, most_bytes, view, spec,
  group, shape, priority = unpack(ARGV)
if not compared(generation, identity) then
  return { 'comparing' }
end
if redis.call('GET', lease) ~= token then
  return { 'lost' }
end
local before = redis.call('HGET', mirrored, theirs)
if before then
  return { 'known', string.match(before, '^%S+') }
end
if redis.call('HLEN', keys.unasked) > 0 then
  return { 'unsure' }
end
local is_large = too_many_of(owner, active_bytes(view, spec), math.huge, tonumber(most_bytes))
if is_large or redis.call('HLEN', keys.waiting) >= tonumber(most_in_all) then
  return { 'full' }
end
local refusal = wrongly_sealed(sealing, sealing_ids, sealed_with)
if refusal then
  return refusal
end
name_sealing(sealing, sealed_with, keep_sealing_ms)
-- Arvados begins a container once: what is lost there is asked for again under another uuid.
create_container(uuid, op, owner, { view = view, spec = spec, group = group, shape = shape, priority = priority, most = 1,
  state = 'Queued', queuedMs = whole(now_ms()) })
local container = container_of(uuid)
queue(container)
say_state(container)
redis.call('HSET', mirrored, theirs, uuid)
return { 'mirrored', uuid }
