-- Writes that a machine runs a container, or has run it, as its runner has said by a warrant of ours, after a loss of data. The
-- higher run is the right one. A run that has ended takes no machine. If the record has this run, its beginning or end is written where
-- the record lacks it. Refused unless the caller owns the machine. Sent again, it answers `known`, or `other` once it is over.
-- @include time generation events draw owner dispatch kept containers machines
-- KEYS: generation (hash)
-- ARGV: identity name op token uuid number owner run running startedMs view spec group shape priority runs mostAttempts most what atMs
--     detail reason
--   number: the op of the uuid
--   most: containers that may share a machine
--   running: '1' if it has begun; startedMs: when, by the machine's clock
--   what, …: as `tell-container`, of a run that has ended; else '', and detail and reason as of one that runs
-- returns: {'comparing'} (the data are not compared yet: what they say of this owner may be old) |
--   {'adopted'} | {'known'} | {'other'} (a higher run is elsewhere, or it is over: to be killed) | {'busy'} (it has as many
--   others that were sent as it may) | {'ahead'} (a number is more than a day beyond Redis' clock) | {'fenced'}
local identity, name, op, token, uuid, number, owner, run, running, started_ms, view, spec, group, shape, priority, runs, most_attempts,
  most, what, at_ms, detail, reason = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
local brief = machine_of(name)
if fenced(machine_key(name), op, token) or not brief then
  return { 'fenced' }
end
if ahead(tonumber(run)) or ahead(tonumber(number)) then
  return { 'ahead' }
end
local began, has_ended_there = running == '1', what ~= ''
local container = container_of(uuid)
local function end_it()
  local told = { what = what, at = ran_at(container, at_ms), detail = detail, reason = reason }
  end_run(container, told, tonumber(most_attempts))
end
if container then
  if container.machine == name and container.run == run and redis.call('HGET', keys.sent, uuid) == name then
    if has_ended_there then
      end_it()
    elseif began then
      -- A runner does not tell again what was acknowledged before the loss.
      say_begun(container, ran_at(container, started_ms), detail, reason)
    end
    return { 'known' }
  end
  if has_ended(container) or tonumber(run) <= tonumber(container.run) then
    return { 'other' }
  end
end
if not container and has_ended_there and redis.call('HEXISTS', keys.unasked, name) == 0 then
  -- No data were lost since this machine was asked: the record was there, and was dropped after its end.
  return { 'other' }
end
local others = containers_of(brief, true)
if #others >= tonumber(most) and not brief.containers[uuid] and not has_ended_there then
  return { 'busy' }
end
for counter, least in pairs({ [keys.runs] = run, [keys.last] = number }) do
  if tonumber(least) > tonumber(redis.call('GET', counter) or 0) then
    redis.call('SET', counter, least)
  end
end
if not container then
  create_container(uuid, number, owner, { view = view, spec = spec, group = group, shape = shape, priority = priority, most = runs,
    state = 'Locked', queuedMs = whole(now_ms()) })
  container = container_of(uuid)
else
  unqueue(container)
  unload(container)
  brief = machine_of(name)
end
local at = math.max(0, math.min(tonumber(started_ms), now_ms()))
redis.call('HSET', keys.sent, uuid, name)
put(container, { state = began and 'Running' or 'Locked', run = run, machine = name, instance = brief.instance,
  instanceType = brief.type, pricePerHour = string.format('%.17g', brief.price), sentMs = at, startedMs = began and at or 0,
  runs = container.runs + (began and 1 or 0),
  gatewayAddress = has_ended_there and '' or detail, gatewayPin = has_ended_there and '' or reason })
if has_ended_there then
  end_it()
  return { 'adopted' }
end
spare_machine(brief)
give(container, brief, run)
brief.lastContainer = uuid
enter(brief, brief.state == 'idle' and 'running' or brief.state)
keep_machine(brief)
say_state(container)
return { 'adopted' }
