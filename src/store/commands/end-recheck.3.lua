-- Notes what the identity source has said of a login, and gives back the right to ask. Tokens are replaced only where they are
-- still those that were used: a later gateway's are newer. Without the right it keeps the tokens alone: another one may have a newer
-- word, so the source must be asked again. Sent again, it notes nothing more.
-- @include time events
-- KEYS: login (hash) lock (string) bell (stream)
-- ARGV: token hash was sealed groups agoMs
--   was: `sealed` when it was asked; groups: names as JSON, '' if they are the same; agoMs: since it was asked
-- returns: 1 (noted), or 0 if it was not, or was before: the login is gone, has other tokens, or another one may ask
local login, lock, bell = unpack(KEYS)
local token, hash, was, sealed, groups, ago_ms = unpack(ARGV)
local standing = redis.call('HGET', login, 'sealed')
local is_ours = standing == was and redis.call('GET', lock) == token
-- Tokens that were replaced are void: these must not be lost, even if another one may ask by now.
if standing == was then
  redis.call('HSET', login, 'sealed', sealed)
end
if is_ours then
  redis.call('HSET', login, 'checkedMs', whole(now_ms() - ago_ms))
  if groups ~= '' then
    redis.call('HSET', login, 'groups', groups)
    redis.call('HINCRBY', login, 'version', 1)
    ring(bell, 'sessions', 'login:' .. hash)
  end
end
if redis.call('GET', lock) == token then
  redis.call('DEL', lock)
end
return is_ours and 1 or 0
