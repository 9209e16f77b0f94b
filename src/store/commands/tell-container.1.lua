-- Writes what the runner of a machine says of a run. Refused unless the caller owns the machine, and the run is the present one of
-- this machine. Sent again, it changes nothing more.
-- @include time generation events owner dispatch kept containers
-- KEYS: generation (hash)
-- ARGV: identity name op token uuid run mostAttempts what atMs detail reason
--   mostAttempts: as often a container is sent without a beginning
--   what: 'running' (detail: address of its gateway; reason: pin of its certificate) |
--     'ended' (detail: exit code, or '' without one) | 'late' (it ended, since it
--     ran longer than it may) | 'lacks' (proof that the machine does not run it, and cannot any more under this run)
--   atMs: by the machine's clock, which is believed between the run's sending and now
-- returns: {'comparing'} (the data are not compared yet: what they say of this owner may be old) |
--   {'told'} | {'other'} (this run is not this machine's any more) | {'fenced'}
local identity, name, op, token, uuid, run, most_attempts, what, at_ms, detail, reason = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
if fenced(machine_key(name), op, token) then
  return { 'fenced' }
end
local container = container_of(uuid)
if not container or container.run ~= run or container.machine ~= name then
  return { 'other' }
end
if redis.call('HGET', keys.sent, uuid) ~= name then
  return { 'told' }
end
local at = ran_at(container, at_ms)
if what == 'running' then
  say_begun(container, at, detail, reason)
elseif what == 'lacks' then
  lose(container, reason, tonumber(most_attempts))
else
  end_run(container, { what = what, at = at, detail = detail, reason = reason }, tonumber(most_attempts))
end
return { 'told' }
