-- What all scripts of containers and machines share. Needs `time` and `events`.

-- All keys, by that of the generation, which is the first one: only a record says in which group its container waits.
-- `dispatch-keys.ts` has the same names.
local tag = string.sub(KEYS[1], 1, -1 - #'dispatch-generation')
local keys = {
  bell = tag .. 'bell', last = tag .. 'last', runs = tag .. 'dispatch-last', found = tag .. 'dispatch-found',
  unasked = tag .. 'dispatch-unasked', statuses = tag .. 'dispatch-statuses', briefs = tag .. 'instance-briefs',
  ids = tag .. 'instance-ids', all = tag .. 'containers', ended = tag .. 'containers-ended', kept = tag .. 'containers-kept',
  outputs = tag .. 'container-outputs', groups = tag .. 'container-groups', group_ids = tag .. 'container-group-ids',
  waiting = tag .. 'container-briefs', sent = tag .. 'container-sent', counts = tag .. 'container-count',
  bytes = tag .. 'container-bytes',
}

local function container_key(uuid)
  return tag .. 'container:' .. uuid
end
local function machine_key(name)
  return tag .. 'instance:' .. name
end
local function owner_key(owner)
  return tag .. 'containers-of:' .. owner
end
local function state_key(state)
  return tag .. 'containers-in:' .. state
end
local function group_key(id)
  return tag .. 'container-group:' .. id
end

-- is_unsure(op): true if a machine that was not asked yet may run this container: it was found by a compare, and the data may
-- be older than what happened.
local function is_unsure(op)
  if redis.call('HLEN', keys.unasked) == 0 then
    return false
  end
  return tonumber(op) <= tonumber(redis.call('GET', keys.found) or 0)
end

-- is_asked(name): this machine has said what it runs, or is gone by proof.
local function is_asked(name)
  redis.call('HDEL', keys.unasked, name)
  if redis.call('HLEN', keys.unasked) == 0 then
    redis.call('DEL', keys.found)
  end
end

-- machine_of(name): its brief, or nil. Numbers beyond 14 digits are strings in it.
local function machine_of(name)
  local json = redis.call('HGET', keys.briefs, name)
  return json and cjson.decode(json) or nil
end

-- put_machine(brief): writes it without a new version and without a ring: for probes.
local function put_machine(brief)
  redis.call('HSET', keys.briefs, brief.name, cjson.encode(brief))
end

-- keep_machine(brief)
local function keep_machine(brief)
  brief.version = brief.version + 1
  put_machine(brief)
  ring(keys.bell, 'events', subject('instance', brief.name))
end

-- containers_of(brief, sent): uuids of those that the machine was asked to run, or of the others, in one order.
local function containers_of(brief, sent)
  local uuids = {}
  for uuid, its in pairs(brief.containers) do
    if (its.run ~= '0') == sent then
      uuids[#uuids + 1] = uuid
    end
  end
  table.sort(uuids)
  return uuids
end

-- is_busy(brief): true if the machine was asked to run a container.
local function is_busy(brief)
  return #containers_of(brief, true) > 0
end

-- enter(brief, state): begins a state. What ends stays so, and what was asked to run something is not idle.
local function enter(brief, state)
  if brief.ending ~= '' then
    state = 'shutdown'
  elseif state == 'idle' and is_busy(brief) then
    state = 'running'
  end
  if brief.state ~= state then
    brief.state, brief.sinceMs = state, now_ms()
  end
end
