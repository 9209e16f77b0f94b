-- Keeps a workload from being stopped for idleness until a time that is not beyond its greatest age, or takes that back. As with
-- `touch-activity`: first, the stop is refused; after it, the caller learns of it.
-- @include time generation activity touches
-- KEYS: generation (hash) activity (hash) record (hash)
-- ARGV: identity kind podUid forMs latestMs
--   podUid: the incarnation: what is known of a former one is forgotten, so the request holds before the first look too
--   forMs: 0 takes it back; latestMs: '' without a greatest age
-- returns: {'kept', until} | {'stopping'} | {'none'} | {'comparing'}
local generation, activity, record = unpack(KEYS)
local identity, kind, pod_uid, for_ms, latest_ms = unpack(ARGV)
if kind == 'lab' and not compared(generation, identity) then
  return { 'comparing' }
end
local is = meet(kind, activity, record, pod_uid)
if is ~= 'kept' then
  return { is }
end
if for_ms == '0' then
  redis.call('HDEL', activity, 'keep')
  return { is, '0' }
end
local till = now_ms() + math.floor(for_ms)
if latest_ms ~= '' then
  till = math.min(till, tonumber(latest_ms))
end
redis.call('HSET', activity, 'keep', whole(till))
redis.call('HINCRBY', activity, 'touches', 1)
redis.call('PEXPIRE', activity, activity_keep_ms)
return { is, whole(till) }
