-- The life of a machine: one operation, of kind `create`, which ends `gone`. Needs `containers`.

-- accept_machine(brief, nonce, plan, timeout_ms): writes it with its operation, which any replica may claim.
local function accept_machine(brief, nonce, plan, timeout_ms)
  local name, op, now = brief.name, brief.op, now_ms()
  redis.call('HSET', machine_key(name), 'op', op, 'kind', 'create', 'status', 'pending', 'active', '1', 'nonce', nonce,
    'token', '', 'claims', 0, 'attempts', 0, 'acting', '1', 'step', '', 'seq', 0, 'progress', 0, 'acceptedAt', whole(now),
    'deadline', whole(now + timeout_ms), 'plan', plan)
  redis.call('ZADD', tag .. 'instance-waiting', op, name)
  redis.call('ZADD', tag .. 'instance-deadlines', whole(now + timeout_ms), name)
  redis.call('ZADD', tag .. 'instance-index', 1, name)
  if brief.instance ~= '' then
    redis.call('HSET', keys.ids, brief.instance, name)
  end
  keep_machine(brief)
  ring(keys.bell, 'accepted', subject('instance', name), op)
end

-- spare_machine(brief): containers that the machine was not asked to run wait again. The caller keeps the brief.
local function spare_machine(brief)
  for _, uuid in ipairs(containers_of(brief, false)) do
    local container = container_of(uuid)
    brief.containers[uuid] = nil
    -- So that it is not written twice, with two versions.
    container.machine = ''
    take_back(container)
  end
end

-- end_machine(brief, why): it is to end, which is never taken back.
local function end_machine(brief, why)
  spare_machine(brief)
  brief.ending = why
  enter(brief, 'shutdown')
  keep_machine(brief)
end
