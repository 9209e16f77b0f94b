-- Writes a finding on a lab's pod between operations, if the lab still has this pod. A running lab has failed, or has ended
-- well and is to be deleted, or its container was restarted; each restart becomes one event. A lab that failed before has
-- lost its pod.
-- While the data are not compared, only the compare itself may write findings, with its mark: an old record has old pods.
-- A compare that was overtaken writes none, also in compared data: it judges old lists.
-- @include time events draw notes deletion generation
-- KEYS: generation (hash) mark (string) record (hash) events (stream) bell (stream) index (zset) last (string)
--   waiting (zset) deadlines (zset) audit (zset)
-- ARGV: identity compareMark user podUid outcome events detail timeoutMs by
--   compareMark: of the compare whose finding this is, or '' for one of a watch
--   detail: the number of restarts; with failed, 'gone' if the pod is gone
--   outcome: 'failed' | 'ended' | 'restarted'
--   by: the origin of the deletion of an ended lab, for the audit log, or '' without one
-- returns: {'written', op} | {'refused'} (an operation runs, another pod, or written before) |
--   {'comparing'} (the data are not compared, or the compare was overtaken) | {'ahead'} (no number can be drawn)
local generation, mark, record, events, bell, index, last, waiting, deadlines, audit = unpack(KEYS)
local identity, compare_mark, user, pod_uid, outcome, list, detail, timeout, by = unpack(ARGV)
local trusted
if compare_mark == '' then
  trusted = compared(generation, identity)
else
  trusted = redis.call('GET', mark) == compare_mark
end
if not trusted then
  return { 'comparing' }
end
local fields = redis.call('HMGET', record, 'op', 'status', 'active', 'podUid', 'seq', 'restarts', 'pod')
local op, status, active, uid, seq, restarts, pod = unpack(fields)
if status == 'failed' and active ~= '1' and uid == pod_uid and pod == '1' and outcome == 'failed' and detail == 'gone' then
  redis.call('HSET', record, 'pod', '0')
  return { 'written', op }
end
if status ~= 'running' or active == '1' or uid ~= pod_uid then
  return { 'refused' }
end
if outcome == 'ended' then
  local deletion = draw(last, op)
  if not deletion then
    return { 'ahead' }
  end
  local keys = { record = record, events = events, waiting = waiting, deadlines = deadlines, bell = bell, index = index,
    audit = audit }
  start_deletion(keys, 'lab', user, deletion, timeout, list, '', '', by, 0)
  return { 'written', deletion }
end
if outcome == 'restarted' then
  if tonumber(restarts or 0) >= tonumber(detail) then
    return { 'refused' }
  end
  redis.call('HSET', record, 'restarts', detail)
end
redis.call('HSET', record, 'seq', append(events, op, tonumber(seq), list))
if outcome == 'failed' then
  -- Here `detail` shows whether the pod is gone.
  redis.call('HSET', record, 'status', 'failed', 'failedAt', whole(now_ms()), 'pod', detail == 'gone' and '0' or '1')
  redis.call('ZADD', index, 4, user)
  ring(bell, 'failed', lab(user), op)
end
ring(bell, outcome == 'failed' and 'ended' or 'events', lab(user), op)
return { 'written', op }
