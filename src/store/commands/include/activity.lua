-- What is known of the activity of workloads. Needs `time`.

-- How long it stays after its last write.
local activity_keep_ms = 604800000

-- raise_floor(floor, identity): nobody counts as idle for longer than since now.
local function raise_floor(floor, identity)
  redis.call('HSET', floor, 'identity', identity, 'floor', whole(now_ms()))
  redis.call('PEXPIRE', floor, activity_keep_ms)
end

-- floor_of(floor, identity): since when idle times are measured, and true if that begins only now: with another Redis, whose
-- data may be older, or after its clock went back. Another Redis begins a series of events of its own too.
local function floor_of(floor, identity)
  local of, since = unpack(redis.call('HMGET', floor, 'identity', 'floor'))
  if of == identity and tonumber(since) <= now_ms() then
    return tonumber(since), false
  end
  if of ~= identity then
    redis.call('HDEL', floor, 'series', 'events')
  end
  raise_floor(floor, identity)
  return now_ms(), true
end

-- known_of(activity): all that is known of a workload, by name.
local function known_of(activity)
  local known, flat = {}, redis.call('HGETALL', activity)
  for i = 1, #flat, 2 do
    known[flat[i]] = flat[i + 1]
  end
  return known
end

-- latest(known): the latest activity in ms, and its source: that which a check found, or a later touch. Never ahead of now,
-- whatever the clock did.
local function latest(known)
  local last, touched = tonumber(known.last or 0), tonumber(known.touched or 0)
  if touched > last then
    return math.min(touched, now_ms()), known.touchedBy
  end
  return math.min(last, now_ms()), known.source or ''
end

-- forget_incarnation(activity): removes all that is known of the present incarnation. Touches stay, since they may be those
-- of the next one, and so does why the workload was stopped.
local function forget_incarnation(activity)
  redis.call('HDEL', activity, 'pod', 'since', 'last', 'source', 'checked', 'warned', 'keep', 'fails', 'unreachable', 'told',
    'readings', 'state', 'rule', 'eligible', 'stopping', 'token', 'cpu', 'cpuRule', 'untold')
end
