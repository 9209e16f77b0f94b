-- Reads an operation's events after a place. If op is '', it is the current operation, or the last one of a subject
-- that is gone. The record shows whether the operation has ended, so that no client waits at a stream that is complete.
-- @include generation
-- KEYS: generation (hash) record (hash) events (stream)
-- ARGV: identity op afterSeq count
--   count: of events at most, or ''
-- returns: {'comparing'} | {'none'} (no such stream) | {'events', op, ended (1 or 0), last seq, entries}
if not compared(KEYS[1], ARGV[1]) then
  return { 'comparing' }
end
local op, after = ARGV[2], tonumber(ARGV[3])
local current, active = unpack(redis.call('HMGET', KEYS[2], 'op', 'active'))
if op == '' then
  local newest = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
  op = current or (newest and string.match(newest[1], '^%d+')) or ''
end
local newest = op ~= '' and redis.call('XREVRANGE', KEYS[3], op, op .. '-0', 'COUNT', 1)[1]
if not newest then
  return { 'none' }
end
local seq = tonumber(string.match(newest[1], '%d+$'))
-- A place beyond the end belongs to a stream that was lost and begun anew: it is read from its start.
if after > seq then
  after = 0
end
local ended = (current == op and active == '1') and 0 or 1
local range = { 'XRANGE', KEYS[3], op .. '-' .. (after + 1), op }
if ARGV[4] ~= '' then
  range[5], range[6] = 'COUNT', ARGV[4]
end
return { 'events', op, ended, seq, redis.call(unpack(range)) }
