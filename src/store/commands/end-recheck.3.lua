-- Notes what the identity source has said of a login, and gives back the right to ask. Tokens are replaced only where they are
-- still those that were used: a later gateway's are newer. Sent again, it notes nothing more.
-- @include time events
-- KEYS: login (hash) lock (string) bell (stream)
-- ARGV: token hash was sealed groups agoMs
--   was: `sealed` when it was asked; groups: names as JSON, '' if they are the same; agoMs: since it was asked
-- returns: 1 (noted), or 0 if the login is gone, or has other tokens by now
local login, lock, bell = unpack(KEYS)
local token, hash, was, sealed, groups, ago_ms = unpack(ARGV)
local standing = redis.call('HGET', login, 'sealed')
local is_ours = standing == was and redis.call('GET', lock) == token
-- Tokens that were replaced are void: these must not be lost, even if another one may ask by now.
if standing == was and (is_ours or sealed ~= was) then
  redis.call('HSET', login, 'sealed', sealed, 'checkedMs', whole(now_ms() - ago_ms))
  if groups ~= '' then
    redis.call('HSET', login, 'groups', groups)
    redis.call('HINCRBY', login, 'version', 1)
    ring(bell, 'sessions', 'login:' .. hash)
  end
end
if redis.call('GET', lock) == token then
  redis.call('DEL', lock)
end
return redis.call('HGET', login, 'sealed') == sealed and 1 or 0
