-- Forgets machines whose operation failed, and of which nothing is left: they are gone by proof, or never were. What the cloud
-- shows of them later is ended, as with any operation that is over.
-- @include time events generation dispatch
-- KEYS: generation (hash)
-- ARGV: identity limit tombstoneMs
-- returns: how many; -1 while comparing
local generation = KEYS[1]
local identity, limit, tombstone_ms = unpack(ARGV)
if not compared(generation, identity) then
  return -1
end
local forgotten = 0
for _, name in ipairs(redis.call('ZRANGE', tag .. 'instance-index', 4, 4, 'BYSCORE', 'LIMIT', 0, limit)) do
  local op, active = unpack(redis.call('HMGET', machine_key(name), 'op', 'active'))
  if active ~= '1' and not machine_of(name) then
    redis.call('DEL', machine_key(name))
    redis.call('ZREM', tag .. 'instance-index', name)
    redis.call('SET', tag .. 'instance-tombstone:' .. name, op or '0', 'PX', tombstone_ms)
    redis.call('PEXPIRE', tag .. 'instance-events:' .. name, tombstone_ms)
    forgotten = forgotten + 1
  end
end
return forgotten
