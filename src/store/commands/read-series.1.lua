-- Reads a stream after a place, through all of its series.
-- @include series
-- KEYS: events (stream)
-- ARGV: series afterSeq count
--   series: '' for the newest one
-- returns: {'none'} (no such stream) | {'events', newest series, newest seq, entries}
return read_series(KEYS[1], ARGV[1], ARGV[2], ARGV[3])
