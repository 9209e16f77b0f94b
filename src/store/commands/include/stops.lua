-- The last judgement before a workload is stopped. Needs `time` and `activity`.

-- The fuse looks at the last minute.
local fuse_ms = 60000
-- Where more than this part does not answer, it is us.
local silent_most = 0.2
-- By how much Redis' clock may differ from what a replica expects.
local jump_ms = 5000

-- stops_of(stops): how many were stopped within the last minute. Forgets older ones; those that are ahead, since the clock
-- went back, count as stopped now.
local function stops_of(stops)
  local now = now_ms()
  for _, each in ipairs(redis.call('ZRANGE', stops, '(' .. whole(now), '+inf', 'BYSCORE')) do
    redis.call('ZADD', stops, whole(now), each)
  end
  for _, each in ipairs(redis.call('ZRANGE', stops, '-inf', whole(now - fuse_ms), 'BYSCORE')) do
    redis.call('ZREM', stops, each)
  end
  return redis.call('ZCARD', stops)
end

-- silent_share(keys, id): the part of a kind that does not answer. Where ids name a namespace, each of these counts as much as
-- any other. Of the others the most silent one counts as if it answered: no namespace alone holds the stops of another. Where
-- over four fifths of each other one answer, its own counts as if it answered: it alone is silent, so it is not us.
-- keys: due, slow
local function silent_share(keys, id)
  local own = string.match(id, '^[^/]*/')
  local slow = redis.call('ZCARD', keys.slow)
  if not own then
    return slow / (redis.call('ZCARD', keys.due) + slow)
  end
  local all, silent = {}, {}
  for _, each in ipairs(redis.call('ZRANGE', keys.due, 0, -1)) do
    local namespace = string.match(each, '^[^/]*/') or ''
    all[namespace] = (all[namespace] or 0) + 1
  end
  for _, each in ipairs(redis.call('ZRANGE', keys.slow, 0, -1)) do
    local namespace = string.match(each, '^[^/]*/') or ''
    all[namespace], silent[namespace] = (all[namespace] or 0) + 1, (silent[namespace] or 0) + 1
  end
  local sum, count, most = 0, 0, 0
  for namespace, number in pairs(all) do
    local share = (silent[namespace] or 0) / number
    sum, count = sum + share, count + 1
    most = namespace == own and most or math.max(most, share)
  end
  if count > 1 and most <= silent_most then
    most = (silent[own] or 0) / all[own]
  end
  return (sum - most) / count
end

-- is_held(keys, id, why, stops_per_minute): true if the fuse holds a stop.
-- keys: due, slow, stops
local function is_held(keys, id, why, stops_per_minute)
  if why == 'unreachable' and silent_share(keys, id) > silent_most then
    return true
  end
  local all = redis.call('ZCARD', keys.due) + redis.call('ZCARD', keys.slow)
  return stops_of(keys.stops) >= math.max(stops_per_minute, math.floor(all / 20))
end

-- is_ours(keys, id, score): true if the workload is still the caller's, who took it with this score. keys: due, slow
local function is_ours(keys, id, score)
  local standing = redis.call('ZSCORE', keys.due, id) or redis.call('ZSCORE', keys.slow, id)
  return standing ~= false and tonumber(standing) == tonumber(score)
end

-- is_over(known, floor, ask): true if the time by the rule has passed, and nobody came since the look. Idle is longer than
-- the time, never just as long.
local function is_over(known, floor, ask)
  local now, last = now_ms(), latest(known)
  if last ~= ask.readLastMs or tonumber(known.touches or 0) ~= ask.touches or tonumber(known.keep or 0) > now then
    return false
  end
  local since = math.max(last, ask.lastMs, floor)
  if ask.why == 'idle' then
    return since + ask.timeoutMs < now
  end
  local unreachable = tonumber(known.unreachable or 0)
  return unreachable > 0 and math.max(since, unreachable) + ask.timeoutMs <= now
end

-- is_warned(known, ask): true if the owner was warned long enough ago, or need not be.
local function is_warned(known, ask)
  local warned = tonumber(known.warned or 0)
  return ask.warnMs == 0 or (warned > 0 and warned + ask.warnMs <= now_ms())
end

-- refusal(keys, identity, id, ask): why a workload must not be stopped now: 'changed', 'clock' or 'held'; nil if it may be.
-- keys: floor, activity, due, slow, stops. ask: the request; its names are those of `StopRequest` in idle.ts.
local function refusal(keys, identity, id, ask)
  if not is_ours(keys, id, ask.score) then
    return 'changed'
  end
  local floor, raised = floor_of(keys.floor, identity)
  if math.abs(now_ms() - ask.expectedMs) > jump_ms then
    raise_floor(keys.floor, identity)
    raised = true
  end
  if raised then
    return 'clock'
  end
  local known = known_of(keys.activity)
  -- Age needs no more than a warning of this incarnation.
  local is_known = known.pod == ask.podUid or (ask.why == 'age' and ask.warnMs == 0)
  if not is_known or not is_warned(known, ask) or (ask.why ~= 'age' and not is_over(known, floor, ask)) then
    return 'changed'
  end
  return is_held(keys, id, ask.why, ask.stopsPerMinute) and 'held' or nil
end

-- note_stop(keys, id, ask): the stop was requested: the fuse counts it, and touches are answered `stopping`.
-- keys: activity, stops
local function note_stop(keys, id, ask)
  redis.call('ZADD', keys.stops, whole(now_ms()), id .. ' ' .. ask.score)
  redis.call('PEXPIRE', keys.stops, 2 * fuse_ms)
  redis.call('HSET', keys.activity, 'stopping', whole(now_ms()), 'stop', ask.words, 'stopScore', ask.score)
  redis.call('PEXPIRE', keys.activity, activity_keep_ms)
end
