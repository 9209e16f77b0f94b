-- Releases a lease before its operation has ended. At a hand-over the operation at once waits for the next owner. A
-- superseded operation leaves the lease to its successor. A claim that may have been written is undone. After a refused
-- claim the operation stays where it was. Attempts do not count hand-overs.
-- @include time events
-- KEYS: record (hash) waiting (zset) owned (zset) lease (string) bell (stream)
-- ARGV: kind name op token
--   op: '' if it is not known, or nothing was claimed
-- returns: 1 (released) or 0 (was not held)
local record, waiting, owned, lease, bell = unpack(KEYS)
local kind, name, op, token = unpack(ARGV)
local held = redis.call('GET', lease) == token
if held then
  redis.call('DEL', lease)
end
local current, holder, active, acting, attempts = unpack(redis.call('HMGET', record, 'op', 'token', 'active', 'acting', 'attempts'))
local mine = active == '1' and holder == token and (op == '' or current == op)
if held and (mine or op ~= '') then
  redis.call('ZREM', owned, name)
end
if mine then
  redis.call('HSET', record, 'token', '')
  if acting == '1' and tonumber(attempts) > 0 then
    redis.call('HINCRBY', record, 'attempts', -1)
  end
  redis.call('ZADD', waiting, current, name)
end
-- A failed claim rings no bell: every replica would retry at once.
if current and (mine or op ~= '') then
  ring(bell, 'released', subject(kind, name), current)
end
return held and 1 or 0
