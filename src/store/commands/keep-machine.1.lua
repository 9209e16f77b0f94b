-- Keeps what the owner of a machine has found out. Refused unless the caller is the owner. Sent again, it changes nothing more.
-- @include time generation events owner dispatch kept containers machines
-- KEYS: generation (hash)
-- ARGV: identity name op token changes
--   changes: as `MachineChanges` in keeping-words.ts, as JSON
-- returns: {'comparing'} (the data are not compared yet: what they say of this owner may be old) |
--   {'fenced'} (another owner, or gone by proof) | {'taken'} (another machine has this id of the cloud: nothing is kept) |
--   {'kept', brief} | {'held', brief} (it is on hold, so that it does not end)
local identity, name, op, token, json = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
local record = machine_key(name)
local brief = machine_of(name)
if fenced(record, op, token) or not brief then
  return { 'fenced' }
end
local changes = cjson.decode(json)
local before = cjson.encode(brief)
if changes.instance and changes.instance ~= brief.instance then
  local holder = redis.call('HGET', keys.ids, changes.instance)
  if holder and holder ~= name then
    return { 'taken' }
  end
  redis.call('HDEL', keys.ids, brief.instance)
  if changes.instance ~= '' then
    redis.call('HSET', keys.ids, changes.instance, name)
  end
end
for _, fact in ipairs({ 'hostKey', 'place' }) do
  if changes[fact] then
    redis.call('HSET', record, fact, changes[fact])
  end
end
if changes.missing and redis.call('HEXISTS', record, 'missingSinceMs') == 0 then
  redis.call('HSET', record, 'missingSinceMs', whole(now_ms()))
elseif changes.missing == false then
  redis.call('HDEL', record, 'missingSinceMs')
end
for _, field in ipairs({ 'instance', 'address', 'broken' }) do
  brief[field] = changes[field] or brief[field]
end
if changes.idleBehavior == 'drain' and brief.ending == '' then
  brief.idleBehavior = 'drain'
end
if changes.state then
  enter(brief, changes.state)
end
if changes.asked then
  is_asked(name)
end
local is_same = cjson.encode(brief) == before
if changes.probed then
  brief.probedMs = now_ms()
end
local ends = changes.ending and changes.ending ~= '' and brief.ending == ''
local held = ends and brief.idleBehavior == 'hold' and brief.instance ~= ''
if ends and not held then
  end_machine(brief, changes.ending)
elseif is_same then
  put_machine(brief)
else
  keep_machine(brief)
end
return { held and 'held' or 'kept', cjson.encode(brief) }
