-- tell_activity(keys, kind, id, event, data): adds an event of a workload to the stream of all, and rings the bell. Ids are
-- `<series>-<n>` without gaps. A series begins where Redis has lost the counter, so a reader notices that events are missing.
-- keys: floor, told, bell. Needs `time`, `events` and `activity`.
local function tell_activity(keys, kind, id, event, data)
  local series = redis.call('HGET', keys.floor, 'series')
  if not series then
    local newest = redis.call('XREVRANGE', keys.told, '+', '-', 'COUNT', 1)[1]
    local last = newest and tonumber(string.match(newest[1], '^%d+')) or 0
    series = whole(math.max(now_ms(), last + 1))
    redis.call('HSET', keys.floor, 'series', series, 'events', 0)
  end
  local n = redis.call('HINCRBY', keys.floor, 'events', 1)
  redis.call('XADD', keys.told, 'MAXLEN', '~', 10000, series .. '-' .. n, 'kind', kind, 'id', id, 'event', event, 'data', data,
    'at', whole(now_ms()))
  redis.call('PEXPIRE', keys.told, activity_keep_ms)
  ring(keys.bell, 'activity', subject(kind, id))
end

-- tell_stop(keys, kind, id): tells that a workload is being stopped, unless that was told. A request is told when it is carried
-- out, by whoever knows of it first: requests that are taken back again and again would fill the stream of all.
-- keys: floor, activity, told, bell
local function tell_stop(keys, kind, id)
  local data = redis.call('HGET', keys.activity, 'untold')
  if data then
    redis.call('HDEL', keys.activity, 'untold')
    tell_activity(keys, kind, id, 'stopping', data)
  end
end
