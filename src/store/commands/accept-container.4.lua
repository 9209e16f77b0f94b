-- Accepts a container, which waits from here on. Sent again with the same nonce, or with the same idempotency key and body, it
-- answers as before. A specification is accepted only if it is sealed with the named key.
-- @include time events generation sealing dispatch kept containers
-- KEYS: generation (hash) nonce (string) idempotency (string) sealing (string)
-- ARGV: identity uuid op owner nonceMs hash idempotencyMs sealedWith sealingIds keepSealingMs most mostInAll mostBytes
--   mostBytesInAll view spec group shape priority runs
--   uuid, op: drawn by `draw-ops` for this caller alone
--   hash: of the body, or '' without an idempotency key
--   most, mostInAll: containers that wait, of an owner and of all
--   mostBytes, mostBytesInAll: of containers that wait or run, of an owner and of all
--   runs: how often it may be run in all
-- returns: {'accepted', uuid} | {'repeated', uuid} | {'mismatch'} | {'full', 'owner' or 'all', 'number' or 'bytes'} | {'comparing'} |
--   {'sealed'} (with a key that is not ours) | {'reseal', key} (it is sealed with another key than this one)
local generation, nonce, idempotency, sealing = unpack(KEYS)
local identity, uuid, op, owner, nonce_ms, hash, idempotency_ms, sealed_with, sealing_ids, keep_sealing_ms, most, most_in_all,
  most_bytes, most_bytes_in_all, view, spec, group, shape, priority, runs = unpack(ARGV)

if not compared(generation, identity) then
  return { 'comparing' }
end
local before = redis.call('GET', nonce)
if before then
  return { 'accepted', before }
end
if hash ~= '' then
  local first = redis.call('GET', idempotency)
  if first then
    local known, of = string.match(first, '^(%S+) (.*)$')
    if of ~= hash then
      return { 'mismatch' }
    end
    return { 'repeated', known }
  end
end
if tonumber(redis.call('HGET', keys.counts, owner) or 0) >= tonumber(most) then
  return { 'full', 'owner', 'number' }
end
if redis.call('HLEN', keys.waiting) >= tonumber(most_in_all) then
  return { 'full', 'all', 'number' }
end
local whose = too_many_of(owner, active_bytes(view, spec), tonumber(most_bytes), tonumber(most_bytes_in_all))
if whose then
  return { 'full', whose, 'bytes' }
end
local refusal = wrongly_sealed(sealing, sealing_ids, sealed_with)
if refusal then
  return refusal
end
name_sealing(sealing, sealed_with, keep_sealing_ms)
redis.call('SET', nonce, uuid, 'PX', nonce_ms)
if hash ~= '' then
  redis.call('SET', idempotency, uuid .. ' ' .. hash, 'PX', idempotency_ms)
end
create_container(uuid, op, owner, { view = view, spec = spec, group = group, shape = shape, priority = priority, most = runs,
  state = 'Queued', queuedMs = whole(now_ms()) })
local container = container_of(uuid)
queue(container)
say_state(container)
return { 'accepted', uuid }
