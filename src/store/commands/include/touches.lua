-- meet(kind, activity, record, pod_uid): what a touch finds: 'kept', 'stopping' or 'none', and what is known of the workload.
-- If that is of another incarnation, it is forgotten first. A lab is judged by its record; any other workload has none, and
-- pod_uid is '' if the caller does not know it. Needs `activity`.
local function meet(kind, activity, record, pod_uid)
  local known = known_of(activity)
  local is = 'kept'
  if kind == 'lab' then
    local status, uid = unpack(redis.call('HMGET', record, 'status', 'podUid'))
    if not status or status == 'failed' then
      return 'none', known
    end
    if status == 'terminating' then
      return 'stopping', known
    end
    -- A lab that is being made has no incarnation yet.
    pod_uid = uid or '-'
  elseif known.stopping then
    is = 'stopping'
  end
  if pod_uid ~= '' and known.pod and known.pod ~= pod_uid then
    forget_incarnation(activity)
    return 'kept', known_of(activity)
  end
  return is, known
end
