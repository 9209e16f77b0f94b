-- Reads the stream of a tenant after a place, as `read-series`. Until the first replica tells of an LNamespace, the stream is
-- that of the former one of its name, which is not for the readers of this one.
-- @include series
-- KEYS: record (hash) events (stream)
-- ARGV: uid series afterSeq count
--   uid: of the LNamespace whose events are wanted; series: '' for the newest one
-- returns: {'none'} (nothing was told of it) | {'events', newest series, newest seq, entries}
local record, events = unpack(KEYS)
local uid, series, after, count = unpack(ARGV)
if redis.call('HGET', record, 'uid') ~= uid then
  return { 'none' }
end
return read_series(events, series, after, count)
