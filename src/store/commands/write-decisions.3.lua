-- Writes decisions of a scheduler, each only if what it was made for is still so. Nothing is written unless the caller's token
-- holds the lease. Sent again, a decision that was written is answered `done` or `changed`, and nothing is written twice.
-- @include time events generation sealing dispatch kept containers machines
-- KEYS: generation (hash) lease (string) sealing (string)
-- ARGV: identity token decisions
--   decisions: as JSON [[what, uuid, its version, name, its version, more], …], where what it does not name is ''
--     'unassign' | 'assign': of both; to assign, more is {room}, what the machine may hold in all, or {}: nothing beside it
--     'create': of the container; more is {brief, nonce, plan, key, timeoutMs}
--     'shutdown': of the machine; more is {why, probedMs}
--     'fail': of the container; more is {why}
-- returns: {'comparing'} | {'lost'} (another has the lease) | {'written', {outcome, uuid's version, name's version}, …}
--   outcome: 'done' | 'changed' | 'held' (the machine is on hold) | 'wait' (machines that may run it were not asked yet)
local generation, lease, sealing = unpack(KEYS)
local identity, token, list = unpack(ARGV)
if not compared(generation, identity) then
  return { 'comparing' }
end
if redis.call('GET', lease) ~= token then
  return { 'lost' }
end
-- Those of machines that may be ended although containers were sent to them.
local forced = { unreachable = true, broken = true, boot = true }
local usable = { creating = true, booting = true, idle = true, running = true }

-- waiting_at(uuid, version): the container, if it waits and has this version.
local function waiting_at(uuid, version)
  local container = container_of(uuid)
  if container and container.version == version and waits(container) then
    return container
  end
end
-- machine_at(name, version)
local function machine_at(name, version)
  local brief = machine_of(name)
  if brief and brief.version == version then
    return brief
  end
end

-- has_room(brief, container, room): true if it fits beside what the machine has. All that it has are of one tenant. What is there is
-- counted here, since an earlier decision may not have taken back what it was to.
local function has_room(brief, container, room)
  if next(brief.containers) == nil then
    return true
  end
  local shape = cjson.decode(container.shape)
  if not room or brief.tenant ~= shape.tenant then
    return false
  end
  local count = 1
  local left = {}
  for of, most in pairs(room.most) do
    left[of] = most - shape.need[of]
  end
  for _, its in pairs(brief.containers) do
    count = count + 1
    for of in pairs(left) do
      left[of] = left[of] - its.need[of]
    end
  end
  left.ramBytes = left.ramBytes - count * room.extraRamBytes
  for _, rest in pairs(left) do
    if rest < 0 then
      return false
    end
  end
  return count <= room.places
end

local write = {}
function write.unassign(uuid, version, name, machine_version)
  local container, brief = waiting_at(uuid, version), machine_at(name, machine_version)
  if not container or not brief or container.state ~= 'Locked' or container.machine ~= name then
    return 'changed'
  end
  take_back(container)
  return 'done'
end

function write.assign(uuid, version, name, machine_version, more)
  local container, brief = waiting_at(uuid, version), machine_at(name, machine_version)
  if not container or not brief or container.state ~= 'Queued' or container.priority <= 0 then
    return 'changed'
  end
  if brief.idleBehavior == 'hold' then
    return 'held'
  end
  if is_unsure(container.op) then
    return 'wait'
  end
  local is_usable = usable[brief.state] and brief.idleBehavior == 'run'
  if not is_usable or not has_room(brief, container, more.room) or brief.ending ~= '' or brief.broken ~= '' then
    return 'changed'
  end
  assign(container, brief)
  keep_machine(brief)
  return 'done'
end

function write.create(uuid, version, _, _, more)
  local brief, nonce, plan, key, timeout = more.brief, more.nonce, more.plan, more.key, more.timeoutMs
  if redis.call('HGET', machine_key(brief.name), 'nonce') == nonce then
    return 'done'
  end
  local container = waiting_at(uuid, version)
  if not container or container.state ~= 'Queued' or container.priority <= 0 then
    return 'changed'
  end
  if is_unsure(container.op) then
    return 'wait'
  end
  if redis.call('EXISTS', machine_key(brief.name)) == 1 or key ~= sealing_key(sealing, key) then
    return 'changed'
  end
  brief.state, brief.sinceMs, brief.createdMs, brief.version = 'creating', now_ms(), now_ms(), 0
  assign(container, brief)
  accept_machine(brief, nonce, plan, timeout)
  return 'done'
end

function write.shutdown(_, _, name, version, more)
  local brief = machine_at(name, version)
  if not brief then
    return 'changed'
  end
  if brief.idleBehavior == 'hold' then
    return 'held'
  end
  if brief.ending ~= '' then
    return 'done'
  end
  local was_probed = more.why == 'unreachable' and brief.probedMs ~= more.probedMs
  if was_probed or (is_busy(brief) and not forced[more.why]) then
    return 'changed'
  end
  end_machine(brief, more.why)
  return 'done'
end

function write.fail(uuid, version, _, _, more)
  local container = waiting_at(uuid, version)
  if not container then
    return 'changed'
  end
  if is_unsure(container.op) then
    return 'wait'
  end
  finish(container, 'Cancelled', more.why)
  return 'done'
end

local answer = { 'written' }
-- By what was read of it: the version that an earlier decision of this call has written.
local written = {}
for _, decision in ipairs(cjson.decode(list)) do
  local what, uuid, version, name, machine_version, more = unpack(decision)
  local of_uuid, of_name = uuid .. ' ' .. version, name .. ' ' .. machine_version
  local outcome = write[what](uuid, written[of_uuid] or tonumber(version), name, written[of_name] or tonumber(machine_version),
    more)
  local now_version = uuid ~= '' and redis.call('HGET', container_key(uuid), 'version') or version
  local brief = name ~= '' and machine_of(name)
  if outcome == 'done' then
    written[of_uuid] = tonumber(now_version)
    written[of_name] = brief and brief.version
  end
  answer[#answer + 1] = { outcome, now_version, brief and whole(brief.version) or machine_version }
end
return answer
