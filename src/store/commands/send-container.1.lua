-- Writes that a machine is asked to run a container that it was assigned: a run is drawn, and from here on only proof frees the
-- container. Sent again by the same machine, the run is the same.
-- @include time generation events draw owner dispatch kept containers
-- KEYS: generation (hash)
-- ARGV: identity name op token uuid
-- returns: {'comparing'} (the data are not compared yet: what they say of this owner may be old) |
--   {'send', run, owner, waitedMs ('' of one that has begun before), view, spec, shape, priority} |
--   {'wait'} (machines that may run it were not asked yet) | {'changed'} (the machine does not have it, or sends another one first) | {'hold'} |
--   {'drain'} | {'ending'} | {'broken'} | {'cancelled'} (it was sent, and is not to begin) | {'fenced'} | {'ahead'} (no run can be drawn)
local identity, name, op, token, uuid = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
local brief = machine_of(name)
if fenced(machine_key(name), op, token) or not brief then
  return { 'fenced' }
end
local container = container_of(uuid)
local its = brief.containers[uuid]
if not container or not its or container.machine ~= name then
  return { 'changed' }
end
local function answer()
  local waited_ms = container.runs == 0 and whole(now_ms() - container.queuedMs) or ''
  return { 'send', container.run, container.owner, waited_ms, unpack(redis.call('HMGET', container_key(uuid), 'view', 'spec', 'shape', 'priority')) }
end
if its.run ~= '0' then
  return container.cancelled == '' and answer() or { 'cancelled' }
end
if brief.ending ~= '' then
  return { 'ending' }
end
if brief.idleBehavior ~= 'run' then
  return { brief.idleBehavior }
end
if brief.broken ~= '' then
  return { 'broken' }
end
if is_unsure(container.op) then
  return { 'wait' }
end
-- It was assigned while the machine booted. Whoever needs the same, and has come before it since, has its turn first.
local first = turn_before(container)
if first then
  -- At this machine it is sent next, and that rings.
  if first.machine ~= name then
    exchange(container, first, name)
  end
  return { 'changed' }
end
local run = draw(keys.runs, container.run)
if not run then
  return { 'ahead' }
end
unqueue(container)
redis.call('HSET', keys.sent, uuid, name)
put(container, { run = run, sentMs = now_ms(), instance = brief.instance, instanceType = brief.type,
  pricePerHour = string.format('%.17g', brief.price) })
its.run, brief.lastContainer = run, uuid
enter(brief, 'running')
keep_machine(brief)
ring(keys.bell, 'events', subject('container', uuid))
return answer()
