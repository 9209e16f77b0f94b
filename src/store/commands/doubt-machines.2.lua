-- In a compare that is needed: these machines are unknown until they were asked what they run. Their claims end, also one of an
-- owner who has noticed nothing: each machine is claimed anew, under an epoch above all that was sent before the loss. Sent again,
-- it changes nothing more.
-- @include time events dispatch
-- KEYS: generation (hash) mark (string)
-- ARGV: mark found name …
--   found: the last op that was found
-- returns: 1 or 0 (the compare was overtaken)
local generation, mark = unpack(KEYS)
if redis.call('GET', mark) ~= ARGV[1] then
  return 0
end
-- The lease too: whoever has it claims nothing more by it.
local function end_claim(brief)
  local record = machine_key(brief.name)
  local active, holder, acting, attempts = unpack(redis.call('HMGET', record, 'active', 'token', 'acting', 'attempts'))
  if active ~= '1' or not holder or holder == '' then
    return
  end
  redis.call('HSET', record, 'token', '')
  if acting == '1' and tonumber(attempts) > 0 then
    redis.call('HINCRBY', record, 'attempts', -1)
  end
  redis.call('DEL', tag .. 'instance-lease:' .. brief.name)
  redis.call('ZREM', tag .. 'instance-owned', brief.name)
  redis.call('ZADD', tag .. 'instance-waiting', brief.op, brief.name)
  ring(keys.bell, 'released', subject('instance', brief.name), brief.op)
end

redis.call('SET', keys.found, ARGV[2])
for i = 3, #ARGV do
  local brief = machine_of(ARGV[i])
  if brief then
    redis.call('HSET', keys.unasked, brief.name, whole(now_ms()))
    end_claim(brief)
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
