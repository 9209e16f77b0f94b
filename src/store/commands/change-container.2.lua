-- Changes the priority of a container, or cancels it. One that waits is cancelled at once, and the machine that it was assigned to
-- has it no more. One that was sent is marked, and its keeper kills it. Sent again with the same nonce,
-- it answers as before.
-- @include time events generation dispatch kept containers
-- KEYS: generation (hash) nonce (string)
-- ARGV: identity uuid owner what value nonceMs
--   owner: '' for the container of any owner
--   what, value: 'priority' and a number | 'cancel' and a reason
-- returns: {'changed'} | {'ended'} | {'none'} | {'often'} (it has so many events that its owner may only make its priority 0) | {'unsure'} (machines that may run it were not asked yet) | {'comparing'}
local generation, nonce = unpack(KEYS)
local identity, uuid, owner, what, value, nonce_ms = unpack(ARGV)
if not compared(generation, identity) then
  return { 'comparing' }
end
if redis.call('EXISTS', nonce) == 1 then
  return { 'changed' }
end
local container = container_of(uuid)
-- That of another owner is answered as one that there is not.
if not container or (owner ~= '' and container.owner ~= owner) then
  return { redis.call('HLEN', keys.unasked) > 0 and 'unsure' or 'none' }
end
if has_ended(container) then
  return { 'ended' }
end
-- Each change is an event, which is kept as long as the container: its owner may not let it grow.
local most_events = 1000
local is_new = what == 'priority' and tonumber(value) ~= container.priority
if is_new and owner ~= '' and value ~= '0' and container.seq >= most_events then
  return { 'often' }
end
local waiting = waits(container)
if waiting and is_unsure(container.op) then
  return { 'unsure' }
end
if is_new then
  local was = container.priority
  if waiting then
    leave_group(container)
    put(container, { priority = tonumber(value) })
    join_group(container)
    if value == '0' and container.state == 'Locked' then
      take_back(container)
    end
  else
    put(container, { priority = tonumber(value) })
  end
  say(container, 'priority', { priority = container.priority, was = was })
end
local reason = what == 'cancel' and value or (value == '0' and not waiting) and 'its priority is 0'
if not reason or container.cancelled ~= '' then
  return { 'changed' }
end
if waiting then
  -- Only this change could not be told from one that comes too late.
  redis.call('SET', nonce, uuid, 'PX', nonce_ms)
  finish(container, 'Cancelled', reason, { cancelled = reason })
else
  put(container, { cancelled = reason })
  say(container, 'cancelling', { reason = reason })
  ring(keys.bell, 'events', subject('instance', container.machine))
end
return { 'changed' }
