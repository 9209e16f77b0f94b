-- In a compare that is needed: these machines are unknown until they were asked what they run, by a new owner. The one that was
-- found may be an old one that came back with the data: its epoch would not be the highest that was drawn.
-- Sent again, it changes nothing more.
-- @include time events dispatch
-- KEYS: generation (hash) mark (string)
-- ARGV: mark found name …
--   found: the last op that was found
-- returns: 1 or 0 (the compare was overtaken)
local generation, mark = unpack(KEYS)
if redis.call('GET', mark) ~= ARGV[1] then
  return 0
end
-- disown(brief): nobody owns its operation.
local function disown(brief)
  local record = machine_key(brief.name)
  if redis.call('HGET', record, 'active') ~= '1' then
    return
  end
  redis.call('HSET', record, 'token', '')
  redis.call('DEL', tag .. 'instance-lease:' .. brief.name)
  redis.call('ZREM', tag .. 'instance-owned', brief.name)
  redis.call('ZADD', tag .. 'instance-waiting', redis.call('HGET', record, 'op'), brief.name)
end

redis.call('SET', keys.found, ARGV[2])
for i = 3, #ARGV do
  local brief = machine_of(ARGV[i])
  if brief then
    redis.call('HSET', keys.unasked, brief.name, whole(now_ms()))
    disown(brief)
    if brief.state ~= 'creating' or brief.instance ~= '' then
      enter(brief, 'unknown')
      keep_machine(brief)
    end
  end
end
if redis.call('HLEN', keys.unasked) == 0 then
  redis.call('DEL', keys.found)
end
return 1
