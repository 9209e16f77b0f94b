-- Lets a lease go before its operation ended: at a hand-over the operation waits for the next owner at once; one that was
-- superseded meanwhile leaves the way to its successor; one whose claim may or may not have been written undoes it; one
-- whose claim was refused goes on being found where it is. Attempts do not count hand-overs.
-- @include time events
-- KEYS: record (hash) waiting (zset) owned (zset) lease (string) bell (stream)
-- ARGV: user op token
--   op: '' where it is not known, or nothing was claimed
-- returns: 1 (let go) or 0 (was not held)
local record, waiting, owned, lease, bell = unpack(KEYS)
local user, op, token = unpack(ARGV)
local held = redis.call('GET', lease) == token
if held then
  redis.call('DEL', lease)
end
local current, holder, active, acting, attempts = unpack(redis.call('HMGET', record, 'op', 'token', 'active', 'acting', 'attempts'))
local mine = active == '1' and holder == token and (op == '' or current == op)
if held and (mine or op ~= '') then
  redis.call('ZREM', owned, user)
end
if mine then
  redis.call('HSET', record, 'token', '')
  if acting == '1' and tonumber(attempts) > 0 then
    redis.call('HINCRBY', record, 'attempts', -1)
  end
  redis.call('ZADD', waiting, current, user)
end
-- Who tried in vain tells nobody: all would try again at that.
if current and (mine or op ~= '') then
  ring(bell, 'released', lab(user), current)
end
return held and 1 or 0
