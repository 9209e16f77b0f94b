-- Judges what workloads of one kind use of processors, each by the rule of its last check. One that uses more than the limit
-- was active when it was measured, and a stop that was decided on less is refused. The others were at rest then. Nothing is
-- noted of another incarnation, or of one whose rule has no limit. Sent again, it notes the same once more.
-- @include time
-- KEYS: for each workload: activity (hash)
-- ARGV: limits, then for each workload: podUid millicores agoMs
--   limits: {rule: millicores, …} as JSON
--   agoMs: how long ago it was measured
-- returns: {how many were judged, how many of them are busy}
local limits = cjson.decode(ARGV[1])
local judged, busy = 0, 0
for i = 1, #KEYS do
  local activity, pod_uid, millicores, ago_ms = KEYS[i], ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1]
  local pod, rule, touched = unpack(redis.call('HMGET', activity, 'pod', 'rule', 'touched'))
  local limit = rule and limits[rule]
  if limit and pod == pod_uid then
    local at = now_ms() - math.max(0, tonumber(ago_ms))
    redis.call('HSET', activity, 'cpu', whole(at), 'cpuRule', rule)
    judged = judged + 1
    if tonumber(millicores) > limit then
      if at > math.min(now_ms(), tonumber(touched or 0)) then
        redis.call('HSET', activity, 'touched', whole(at), 'touchedBy', 'cpu')
      end
      redis.call('HINCRBY', activity, 'touches', 1)
      busy = busy + 1
    end
  end
end
return { judged, busy }
