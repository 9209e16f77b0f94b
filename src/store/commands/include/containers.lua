-- Containers: each waits in one group, or is sent to one machine, or has ended. Needs `dispatch` and `kept`.

local names = { 'state', 'owner', 'priority', 'version', 'op', 'seq', 'group', 'shape', 'queuedMs', 'attempts', 'runs', 'most',
  'run', 'machine', 'instance', 'cancelled', 'sentMs', 'startedMs' }
local numbers = { 'priority', 'version', 'seq', 'attempts', 'runs', 'most', 'sentMs', 'startedMs' }

-- container_of(uuid): what scripts need of a record, or nil.
local function container_of(uuid)
  local values = redis.call('HMGET', container_key(uuid), unpack(names))
  if not values[1] then
    return nil
  end
  local found = { uuid = uuid }
  for i, name in ipairs(names) do
    found[name] = values[i] or ''
  end
  for _, name in ipairs(numbers) do
    found[name] = tonumber(found[name]) or 0
  end
  return found
end

local function has_ended(container)
  return container.state == 'Complete' or container.state == 'Cancelled'
end

-- waits(container): true if no machine was asked to run it.
local function waits(container)
  return redis.call('HEXISTS', keys.waiting, container.uuid) == 1
end

-- brief_container(container): what the scheduler reads of one that waits.
local function brief_container(container)
  local machine = container.state == 'Locked' and container.machine or ''
  redis.call('HSET', keys.waiting, container.uuid, table.concat({ container.group, whole(container.priority),
    container.queuedMs, whole(container.attempts), whole(container.version), machine }, ' '))
end

-- put(container, fields): changes the record, and the brief of one that waits.
local function put(container, fields)
  local flat = {}
  fields.version = container.version + 1
  if fields.state and fields.state ~= container.state then
    redis.call('ZREM', state_key(container.state), container.uuid)
    redis.call('ZADD', state_key(fields.state), 0, container.uuid)
  end
  for name, value in pairs(fields) do
    container[name] = value
    flat[#flat + 1], flat[#flat + 2] = name, type(value) == 'number' and whole(value) or value
  end
  redis.call('HSET', container_key(container.uuid), unpack(flat))
  if waits(container) then
    brief_container(container)
  end
end

-- say(container, event, data): adds an event, and rings the bell.
local function say(container, event, data)
  container.seq = container.seq + 1
  redis.call('HSET', container_key(container.uuid), 'seq', whole(container.seq))
  redis.call('XADD', tag .. 'container-events:' .. container.uuid, container.op .. '-' .. whole(container.seq), 'event', event,
    'data', cjson.encode(data))
  ring(keys.bell, has_ended(container) and 'ended' or 'events', subject('container', container.uuid))
end

-- say_state(container, reason)
local function say_state(container, reason)
  local data = { state = container.state, at = now_ms() }
  local has_machine = container.state == 'Locked' or container.state == 'Running'
  if has_machine and container.instance ~= '' then
    data.instance = container.instance
  end
  if reason and reason ~= '' then
    data.reason = reason
  end
  say(container, 'state', data)
end

local function join_group(container)
  if container.priority > 0 then
    redis.call('HSET', keys.groups, container.group, container.shape)
    redis.call('ZADD', keys.group_ids, 0, container.group)
    redis.call('ZADD', group_key(container.group), -container.priority, container.uuid)
  end
end

local function leave_group(container)
  redis.call('ZREM', group_key(container.group), container.uuid)
  if redis.call('EXISTS', group_key(container.group)) == 0 then
    redis.call('HDEL', keys.groups, container.group)
    redis.call('ZREM', keys.group_ids, container.group)
    redis.call('HDEL', keys.statuses, container.group)
  end
end

-- queue(container): it waits from here on.
local function queue(container)
  brief_container(container)
  redis.call('HINCRBY', keys.counts, container.owner, 1)
  join_group(container)
end

-- unqueue(container): it does not wait any more.
local function unqueue(container)
  if redis.call('HDEL', keys.waiting, container.uuid) == 0 then
    return
  end
  if redis.call('HINCRBY', keys.counts, container.owner, -1) <= 0 then
    redis.call('HDEL', keys.counts, container.owner)
  end
  leave_group(container)
end

-- unload(container): takes it off its machine, wherever it was sent to. What was sent was busy until now.
local function unload(container)
  local brief = machine_of(container.machine)
  local was_sent = redis.call('HDEL', keys.sent, container.uuid) == 1
  if not brief or not brief.containers[container.uuid] then
    return
  end
  brief.containers[container.uuid] = nil
  if was_sent then
    brief.busyMs = now_ms()
    -- It is not idle before its last one has ended.
    if brief.state == 'running' then
      enter(brief, 'idle')
    end
  end
  keep_machine(brief)
end

-- take_back(container): a machine that was not asked to run it has it no more.
local function take_back(container)
  unload(container)
  put(container, { state = 'Queued', machine = '', instance = '', instanceType = '', pricePerHour = '0' })
  say_state(container)
end

-- finish(container, state, trouble, fields): ends it, wherever it is.
local function finish(container, state, trouble, fields)
  unqueue(container)
  if container.state == 'Locked' or container.state == 'Running' then
    unload(container)
  end
  fields = fields or {}
  fields.state, fields.trouble, fields.active = state, trouble, '0'
  fields.finishedMs = fields.finishedMs or now_ms()
  put(container, fields)
  say_state(container, trouble)
  -- Nobody runs it any more, and it may have secrets.
  redis.call('HDEL', container_key(container.uuid), 'spec')
  end_active(container)
  keep_ended(container)
end

-- requeue(container, trouble, fields): it waits again, in its former place.
local function requeue(container, trouble, fields)
  unload(container)
  fields.state, fields.trouble, fields.gatewayAddress = 'Queued', trouble, ''
  put(container, fields)
  queue(container)
  say_state(container, trouble)
end

-- lose(container, trouble, most_attempts): by proof, its machine does not run it, and there is no result.
local function lose(container, trouble, most_attempts)
  if container.cancelled ~= '' then
    finish(container, 'Cancelled', container.cancelled)
  elseif container.state == 'Running' then
    if container.runs < container.most then
      requeue(container, trouble, {})
    else
      finish(container, 'Cancelled', trouble)
    end
  elseif container.attempts + 1 < most_attempts then
    requeue(container, trouble, { attempts = container.attempts + 1 })
  else
    finish(container, 'Cancelled', trouble, { attempts = container.attempts + 1 })
  end
end

-- create_container(uuid, op, owner, fields): writes a new record, which waits for nothing yet.
local function create_container(uuid, op, owner, fields)
  -- Of a record that was lost: streams refuse ids below their last one.
  redis.call('DEL', tag .. 'container-events:' .. uuid, tag .. 'container-log:' .. uuid, tag .. 'container-log-tail:' .. uuid)
  redis.call('HSET', container_key(uuid), 'op', op, 'owner', owner, 'active', '1', 'seq', 0, 'version', 1, 'attempts', 0, 'runs', 0,
    'run', 0, 'machine', '', 'instance', '', 'cancelled', '', 'trouble', '')
  for name, value in pairs(fields) do
    redis.call('HSET', container_key(uuid), name, value)
  end
  begin_active(uuid, owner, active_bytes(fields.view, fields.spec))
  redis.call('ZADD', keys.all, 0, uuid)
  redis.call('ZADD', owner_key(owner), 0, uuid)
  redis.call('ZADD', state_key(fields.state), 0, uuid)
end

-- give(container, brief, run): the machine has it, and counts for its tenant from here on. The caller keeps the brief.
local function give(container, brief, run)
  local shape = cjson.decode(container.shape)
  brief.containers[container.uuid] = { run = run, supervisor = shape.supervisor, need = shape.need }
  brief.tenant = shape.tenant
end

-- assign(container, brief): to a machine that is not asked yet. The caller keeps the brief.
local function assign(container, brief)
  give(container, brief, '0')
  put(container, { state = 'Locked', machine = brief.name, instance = brief.instance, instanceType = brief.type,
    pricePerHour = string.format('%.17g', brief.price) })
  say_state(container)
end

-- turn_before(container): of its group, the first that comes before it, or nil. At another machine that is ready it is about to be
-- sent: to take it from there would make nobody earlier, and such machines might take it from each other for ever.
local function turn_before(container)
  for _, uuid in ipairs(redis.call('ZRANGE', group_key(container.group), 0, 49)) do
    local other = uuid ~= container.uuid and container_of(uuid)
    if not other then
      return nil
    end
    local brief = other.state == 'Locked' and machine_of(other.machine)
    local is_ready = brief and (brief.state == 'idle' or brief.state == 'running')
    local is_sent_there = is_ready and other.machine ~= container.machine
    if not is_unsure(other.op) and not is_sent_there then
      return other
    end
  end
end

-- exchange(container, first, name): the first gets this machine, and leaves its own to the container, if it has one that is of use.
local function exchange(container, first, name)
  local other = first.state == 'Locked' and first.machine or ''
  take_back(container)
  if other ~= '' then
    take_back(first)
  end
  local brief, left = machine_of(name), other ~= '' and machine_of(other)
  assign(first, brief)
  keep_machine(brief)
  if left and left.idleBehavior == 'run' and left.ending == '' and left.broken == '' then
    assign(container, left)
    keep_machine(left)
  end
end

-- ran_at(container, at_ms): a time by the machine's clock, which is believed between the sending of the run and now.
local function ran_at(container, at_ms)
  return math.max(container.sentMs, container.startedMs, math.min(tonumber(at_ms), now_ms()))
end

-- begin_run(container, at): true if it was not known to have begun.
local function begin_run(container, at)
  if container.state ~= 'Locked' then
    return false
  end
  put(container, { state = 'Running', startedMs = at, runs = container.runs + 1, trouble = '' })
  return true
end

-- say_begun(container, at, address, pin): its run has begun, and its gateway is there. Nothing if that is known.
local function say_begun(container, at, address, pin)
  if begin_run(container, at) then
    put(container, { gatewayAddress = address, gatewayPin = pin })
    say_state(container)
  end
end

-- end_run(container, told, most_attempts): its run has ended, and so has begun, also if nobody said so.
-- told: what is 'ended', or 'late' if it ran longer than it may; detail is the exit code, or '' without one
local function end_run(container, told, most_attempts)
  begin_run(container, told.at)
  local fields = { finishedMs = told.at, exitCode = told.detail }
  if told.what == 'late' then
    finish(container, 'Cancelled', 'it ran longer than max_run_time', fields)
  elseif told.detail == '' then
    lose(container, told.reason, most_attempts)
  elseif container.cancelled ~= '' then
    finish(container, 'Cancelled', container.cancelled, fields)
  else
    finish(container, 'Complete', '', fields)
  end
end
