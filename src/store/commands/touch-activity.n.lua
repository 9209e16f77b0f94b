-- Notes that workloads of one kind were used. First, the stop is refused; after it, the caller learns of it. A lab is judged by
-- its record. Any other workload counts as there, since the caller sees it. Sent again, it notes the same once more.
-- @include time generation activity touches
-- KEYS: generation (hash) flushed (hash), then for each workload: activity (hash) record (hash)
-- ARGV: identity kind source gateway leaving upTo forgetMs, then for each workload: podUid ageMs
--   gateway: the name of one that has seen no more than this until upTo (ms; '': now), or ''; upTo is never believed beyond now
--   leaving: '1' if it ends, and is not waited for
--   forgetMs: how long a gateway may be silent before it is gone
--   podUid: the incarnation, or '' if the caller does not know it
--   ageMs: how long ago it was used
-- returns: {'comparing'} | {'touched', now in ms, 'kept' | 'stopping' | 'none', …}
local generation, flushed = unpack(KEYS, 1, 2)
local identity, kind, source, gateway, leaving, up_to, forget_ms = unpack(ARGV)
if kind == 'lab' and not compared(generation, identity) then
  return { 'comparing' }
end
local answer = { 'touched', whole(now_ms()) }
for i = 1, (#KEYS - 2) / 2 do
  local activity, record = KEYS[2 * i + 1], KEYS[2 * i + 2]
  local pod_uid, age_ms = ARGV[2 * i + 6], ARGV[2 * i + 7]
  local is, known = meet(kind, activity, record, pod_uid)
  if is == 'kept' then
    local at = math.max(now_ms() - math.max(0, tonumber(age_ms)), math.min(now_ms(), tonumber(known.touched or 0)))
    redis.call('HSET', activity, 'touched', whole(at), 'touchedBy', source)
    redis.call('HINCRBY', activity, 'touches', 1)
    redis.call('PEXPIRE', activity, activity_keep_ms)
  end
  answer[#answer + 1] = is
end
if leaving == '1' then
  redis.call('HDEL', flushed, gateway)
elseif gateway ~= '' then
  local marks = redis.call('HGETALL', flushed)
  local mark = up_to == '' and now_ms() or tonumber(up_to)
  for i = 1, #marks, 2 do
    if math.abs(now_ms() - tonumber(marks[i + 1])) > tonumber(forget_ms) then
      redis.call('HDEL', flushed, marks[i])
    elseif marks[i] == gateway then
      mark = math.max(mark, tonumber(marks[i + 1]))
    end
  end
  redis.call('HSET', flushed, gateway, whole(math.min(now_ms(), mark)))
  redis.call('PEXPIRE', flushed, activity_keep_ms)
end
return answer
