-- Adds the events that have not been told yet to the stream of an app. Any replica may send what it sees, at any time and
-- again. An older version of the app changes nothing of its phase.
-- @include time events
-- KEYS: record (hash) known (zset) events (stream) bell (stream)
-- ARGV: uid version phase list keepMs most mostTold
--   phase: data of the event `phase`, or ''
--   list: [[key, event, data], …] as JSON, in order; a key is told once
--   keepMs: how long all of this stays after the last call; most: events that are kept; mostTold: keys that are remembered
-- returns: number of events that were added
local record, known, events, bell = unpack(KEYS)
local uid, version, phase, list, keep_ms, most, most_told = unpack(ARGV)
local added = {}
for _, each in ipairs(cjson.decode(list)) do
  if not redis.call('ZSCORE', known, each[1]) then
    redis.call('ZADD', known, whole(now_us()), each[1])
    added[#added + 1] = { each[2], each[3] }
  end
end
for _, key in ipairs(redis.call('ZRANGE', known, 0, -1 - most_told)) do
  redis.call('ZREM', known, key)
end
local known_version, known_phase = unpack(redis.call('HMGET', record, 'version', 'phase'))
if phase ~= '' and tonumber(version) >= tonumber(known_version or 0) then
  if known_phase ~= phase then
    added[#added + 1] = { 'phase', phase }
  end
  redis.call('HSET', record, 'version', version, 'phase', phase)
end
if #added > 0 then
  -- A series is older than every one that begins after it, so a follower of a lost stream is at its end.
  local series, seq = whole(now_ms()), 0
  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
  if newest then
    local last, number = string.match(newest[1], '^(%d+)-(%d+)$')
    series, seq = last, tonumber(number)
  end
  append(events, series, seq, cjson.encode(added))
  redis.call('XTRIM', events, 'MAXLEN', most)
  ring(bell, 'events', subject('app', uid))
end
for _, key in ipairs({ record, known, events }) do
  redis.call('PEXPIRE', key, keep_ms)
end
return #added
