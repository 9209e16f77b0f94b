-- What a watch may write between operations, and nothing else: a lab that runs, with no operation, with this very pod,
-- has failed, or ended well and is to be deleted, or was restarted in its place, which is told once.
-- @include time events draw deletion
-- KEYS: record events bell index last waiting
-- ARGV: user podUid outcome events detail timeoutMs
--   detail: how often it was restarted; with failed, 'gone' where the pod is no more
--   outcome: 'failed' | 'ended' | 'restarted'
-- returns: {'written', op} | {'refused'} (an operation runs, another pod, or told before)
local record, events, bell, index, last, waiting = unpack(KEYS)
local user, pod_uid, outcome, list, detail, timeout = unpack(ARGV)
local op, status, active, uid, seq, told = unpack(redis.call('HMGET', record, 'op', 'status', 'active', 'podUid', 'seq', 'restarts'))
if status ~= 'running' or active == '1' or uid ~= pod_uid then
  return { 'refused' }
end
if outcome == 'ended' then
  local deletion = draw(last, op)
  start_deletion({ record = record, events = events, waiting = waiting, bell = bell, index = index }, user, deletion, timeout, list)
  return { 'written', deletion }
end
if outcome == 'restarted' then
  if tonumber(told or 0) >= tonumber(detail) then
    return { 'refused' }
  end
  redis.call('HSET', record, 'restarts', detail)
end
redis.call('HSET', record, 'seq', append(events, op, tonumber(seq), list))
if outcome == 'failed' then
  -- Here `detail` says whether the pod still stands.
  redis.call('HSET', record, 'status', 'failed', 'failedAt', whole(now_ms()), 'pod', detail == 'gone' and '0' or '1')
  redis.call('ZADD', index, 4, user)
end
ring(bell, user, op, outcome == 'failed' and 'ended' or 'events')
return { 'written', op }
