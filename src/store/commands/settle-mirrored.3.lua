-- Changes what is remembered of a container of Arvados. Nothing is written unless the caller's token holds the lease, and it has
-- this uuid of ours. Sent again, it answers `done` or `changed`.
-- @include time events generation dispatch kept containers
-- KEYS: generation (hash) lease (string) mirrored (hash)
-- ARGV: identity token theirs uuid what
--   what: 'found' (a record of ours names it, and nothing is remembered) | 'back' (takes one that waits out of the queue, so that
--     Arvados may be told that we do not run it) | 'forget' (it has ended, or there is no record)
-- returns: {'done'} | {'changed'} | {'comparing'} | {'lost'} (another has the lease)
local generation, lease, mirrored = unpack(KEYS)
local identity, token, theirs, uuid, what = unpack(ARGV)
if not compared(generation, identity) then
  return { 'comparing' }
end
if redis.call('GET', lease) ~= token then
  return { 'lost' }
end
local entry = redis.call('HGET', mirrored, theirs)
if what == 'found' then
  if entry then
    return { 'changed' }
  end
  redis.call('HSET', mirrored, theirs, uuid)
  return { 'done' }
end
if not entry or string.match(entry, '^%S+') ~= uuid then
  return { 'changed' }
end
local container = container_of(uuid)
if what == 'forget' then
  if container and not has_ended(container) then
    return { 'changed' }
  end
  redis.call('HDEL', mirrored, theirs)
  return { 'done' }
end
if entry == uuid .. ' back' then
  return { 'done' }
end
if not container or not waits(container) or is_unsure(container.op) then
  return { 'changed' }
end
finish(container, 'Cancelled', 'it was given back to Arvados')
redis.call('HSET', mirrored, theirs, uuid .. ' back')
return { 'done' }
