-- Claims an operation for the holder of the subject's lease: writes its token into the record, which identifies every later
-- script of the owner. An operation that was found in a restarted Redis waits until its former owner has stopped.
-- Sent again with the same token, it answers as before and counts nothing twice. For a kind that wants it, each claim draws a
-- number of its own, its epoch, which rises with every owner.
-- @include time generation sealing draw
-- KEYS: generation (hash) record (hash) waiting (zset) owned (zset) deadlines (zset) lease (string) hold (string)
--   sealing (string) epochs (string)
-- ARGV: identity name token ttlMs passedHold sealingIds draws
--   passedHold: a hold that this replica has seen last for its whole time by its own clock
--   draws: '1' if the claim draws an epoch, else ''
-- returns: {'claimed', remainingMs, found, field, value, …} | {'refused'} | {'idle'} | {'comparing'} |
--   {'ahead'} (no number can be drawn)
local generation, record, waiting, owned, deadlines, lease, hold, sealing, epochs = unpack(KEYS)
local identity, name, token, ttl, passed, sealing_ids, draws = unpack(ARGV)

if not compared(generation, identity) then
  return { 'comparing' }
end
if redis.call('GET', lease) ~= token or not may_open(sealing, sealing_ids) then
  return { 'refused' }
end
local op, active, acting, holder = unpack(redis.call('HMGET', record, 'op', 'active', 'acting', 'token'))
if active ~= '1' then
  redis.call('ZREM', waiting, name)
  redis.call('ZREM', owned, name)
  redis.call('ZREM', deadlines, name)
  return { 'idle' }
end
local held = redis.call('GET', hold) or '0'
if held ~= passed and tonumber(op) <= tonumber(held) then
  return { 'refused' }
end
if holder ~= token then
  if draws == '1' then
    local epoch = draw(epochs, redis.call('HGET', record, 'epoch'))
    if not epoch then
      return { 'ahead' }
    end
    redis.call('HSET', record, 'epoch', epoch)
  end
  redis.call('HSET', record, 'token', token)
  redis.call('HINCRBY', record, 'claims', 1)
  -- Only an act may have killed the former owner; waiting for the cluster does no harm.
  if acting == '1' then
    redis.call('HINCRBY', record, 'attempts', 1)
  end
end
redis.call('ZREM', waiting, name)
redis.call('ZADD', owned, math.max(now_ms() + ttl, tonumber(redis.call('ZSCORE', owned, name) or 0) + 1), name)
local answer = { 'claimed', whole(tonumber(redis.call('HGET', record, 'deadline')) - now_ms()),
  redis.call('HGET', generation, 'found') or '0' }
for _, part in ipairs(redis.call('HGETALL', record)) do
  answer[#answer + 1] = part
end
return answer
