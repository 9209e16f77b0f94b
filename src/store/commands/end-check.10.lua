-- Ends a check: writes what it found, when the next one is due, and its events, all in one. Refused where the workload was taken
-- again: a check that comes late changes nothing. Sent again, it answers as before.
-- Within an incarnation the latest activity never falls, and none is ever ahead of now. Whoever came while the check ran voids a
-- warning that the check would give. A warning counts from when it is told, not from when a slow replica decided it.
-- @include time events generation activity activity-events
-- KEYS: generation (hash) record (hash) events (stream) bell (stream) floor (hash) activity (hash) due (zset) slow (zset)
--   states (zset) told (stream)
-- ARGV: identity kind id score podUid touches found nextMs lane state events op words
--   found: {field: value, …} as JSON
--   lane: 'fast' | 'slow'; state: its number, for counts
--   events: [[event, data], …] as JSON
--   op, words: of a lab alone: events for its own stream, while it runs by this op with this pod, else '' and '[]'
-- returns: 1 or 0 (refused)
local generation, record, events, bell, floor, activity, due, slow, states, told = unpack(KEYS)
local identity, kind, id, score, pod_uid, touches, found, next_ms, lane, state, list, op, words = unpack(ARGV)

local known = known_of(activity)
local standing = redis.call('ZSCORE', due, id) or redis.call('ZSCORE', slow, id)
if not standing or tonumber(standing) ~= tonumber(score) then
  return (standing and known.token == score) and 1 or 0
end
floor_of(floor, identity)
local now, new = now_ms(), cjson.decode(found)
local is_same = known.pod == pod_uid
local came = tonumber(known.touches or 0) ~= tonumber(touches)

local last, source = tonumber(new.last), new.source
local counts = known
if known.pod and not is_same then
  -- What a check found of a former incarnation is none of this one's, while a touch since the read is.
  counts = { touched = came and known.touched or nil, touchedBy = known.touchedBy }
end
local before, before_source = latest(counts)
if before > last then
  last, source = before, before_source
end
local told_now, warns = cjson.decode(list), false
for _, each in ipairs(told_now) do
  warns = warns or each[1] == 'warning'
end
local warned = came and (is_same and known.warned or '0') or (warns and now or new.warned)
-- Requests to keep it come at any time, so those of this incarnation stand as they are.
local keep = tonumber(known.keep or 0)
if not is_same then
  keep = math.max(tonumber(new.keep), known.pod and 0 or keep)
end

if known.stopping then
  -- A stop that was requested was not carried out.
  redis.call('HDEL', activity, 'stop', 'stopped')
elseif tonumber(known.stopped or now) + activity_keep_ms < now then
  redis.call('HDEL', activity, 'stop', 'stopped')
end
forget_incarnation(activity)
local function past(ms)
  return whole(math.min(now, tonumber(ms)))
end
redis.call('HSET', activity, 'pod', pod_uid, 'last', past(last), 'source', source, 'warned', past(warned),
  'since', past(new.since), 'checked', past(new.checked), 'keep', whole(keep), 'fails', new.fails,
  'unreachable', past(new.unreachable), 'told', past(new.told), 'readings', new.readings,
  'state', new.state, 'rule', new.rule, 'eligible', new.eligible, 'token', score)
-- A touch that is ahead, since the clock went back, would count as one of now at each check.
if tonumber(known.touched or 0) > now then
  redis.call('HSET', activity, 'touched', whole(now))
end

local set, other = due, slow
if lane == 'slow' then
  set, other = slow, due
end
redis.call('ZREM', other, id)
redis.call('ZADD', set, whole(now_us() + next_ms * 1000), id)
redis.call('ZADD', states, state, id)
for _, key in ipairs({ floor, activity, set, states }) do
  redis.call('PEXPIRE', key, activity_keep_ms)
end

local keys = { floor = floor, told = told, bell = bell }
for _, each in ipairs(told_now) do
  local event, data = unpack(each)
  if not (came and (event == 'warning' or event == 'kept')) then
    tell_activity(keys, kind, id, event, data)
  end
end
if op ~= '' and words ~= '[]' and not came and compared(generation, identity) then
  local status, active, of, uid, seq = unpack(redis.call('HMGET', record, 'status', 'active', 'op', 'podUid', 'seq'))
  if status == 'running' and active ~= '1' and of == op and uid == pod_uid then
    redis.call('HSET', record, 'seq', append(events, op, tonumber(seq), words))
    ring(bell, 'events', subject(kind, id), op)
  end
end
return 1
