-- Records what a step did, with its events. Refused from anyone but the owner. Sent again, it changes nothing: the
-- events' place in the stream is given.
-- @include time events owner
-- KEYS: record events bell
-- ARGV: user op token seq events fields
--   seq: of the last event before these
-- returns: 1 or 0 (fenced)
local record, events, bell = unpack(KEYS)
local user, op, token, seq, list, fields = unpack(ARGV)
if fenced(record, op, token) then
  return 0
end
set_fields(record, fields)
local standing = tonumber(redis.call('HGET', record, 'seq'))
if standing == tonumber(seq) and list ~= '[]' then
  redis.call('HSET', record, 'seq', append(events, op, standing, list))
  ring(bell, user, op, 'events')
end
return 1
