-- Looks whether sessions hold: session, login, app and user must agree, and none of them may be revoked since.
-- KEYS: for each session: session (hash) login (hash) revokedUser (string) revokedApp (string) revokedEntry (string)
-- ARGV: for each session: appId appUid hash user
--   hash: of the login
-- returns: for each session two values: 'in' | 'session', if only the session is void | 'login', if the login is; and the
--   version of the login, or ''
local function epoch_of(key)
  return tonumber(redis.call('GET', key) or 0)
end
local answer = {}
for i = 0, #KEYS / 5 - 1 do
  local session, login, revoked_user, revoked_app, revoked_entry = unpack(KEYS, 5 * i + 1, 5 * i + 5)
  local app_id, app_uid, hash, user = unpack(ARGV, 4 * i + 1, 4 * i + 4)
  local of, since, version = unpack(redis.call('HMGET', login, 'user', 'epoch', 'version'))
  local is = 'session'
  if of ~= user or epoch_of(revoked_user) > tonumber(since or -1) then
    is, version = 'login', ''
  else
    local id, uid, by, entered = unpack(redis.call('HMGET', session, 'appId', 'appUid', 'login', 'epoch'))
    local agrees = id == app_id and uid == app_uid and by == hash
    if agrees and math.max(epoch_of(revoked_app), epoch_of(revoked_entry)) <= tonumber(entered or -1) then
      is = 'in'
    end
  end
  answer[#answer + 1] = is
  answer[#answer + 1] = version
end
return answer
