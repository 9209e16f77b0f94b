-- Records what a step did, with its events. Refused from anyone but the owner. Sent again, it changes nothing: the
-- events' place in the stream is given.
-- @include time events owner
-- KEYS: record (hash) events (stream) bell (stream)
-- ARGV: user op token seq events fields
--   seq: of the last event before these
-- returns: 1 or 0 (fenced: another owner, or a record that went back behind the events that were told)
local record, events, bell = unpack(KEYS)
local user, op, token, seq, list, fields = unpack(ARGV)
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
  ring(bell, 'events', lab(user), op)
end
return 1
