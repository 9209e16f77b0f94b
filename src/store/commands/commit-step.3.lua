-- Records the result of a step with its events. Refused unless the caller is the owner. Sent again, it changes nothing,
-- since the caller gives the events' place in the stream.
-- @include time events owner
-- KEYS: record (hash) events (stream) bell (stream)
-- ARGV: kind name op token seq events fields
--   seq: of the last event before these
-- returns: 1 or 0 (fenced: another owner, or a record that is older than the events already written)
local record, events, bell = unpack(KEYS)
local kind, name, op, token, seq, list, fields = unpack(ARGV)
if fenced(record, op, token) then
  return 0
end
local standing, count = tonumber(redis.call('HGET', record, 'seq')), #cjson.decode(list)
if standing ~= tonumber(seq) and standing ~= tonumber(seq) + count then
  return 0
end
set_fields(record, fields)
if standing == tonumber(seq) and count > 0 then
  redis.call('HSET', record, 'seq', append(events, op, standing, list))
  ring(bell, 'events', subject(kind, name), op)
end
return 1
