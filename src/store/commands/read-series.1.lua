-- Reads a stream after a place, through all of its series. A place that is not in it was trimmed, or belongs to a stream that
-- was lost and begun anew: it is read from its start.
-- KEYS: events (stream)
-- ARGV: series afterSeq count
--   series: '' for the newest one
-- returns: {'none'} (no such stream) | {'events', newest series, newest seq, entries}
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if not newest then
  return { 'none' }
end
local last, number = string.match(newest[1], '^(%d+)-(%d+)$')
local series, after = ARGV[1], tonumber(ARGV[2])
if series == '' then
  series = last
end
local place = series .. '-' .. ARGV[2]
local is_there = tonumber(series) <= tonumber(last)
if is_there and after > 0 then
  is_there = #redis.call('XRANGE', KEYS[1], place, place) > 0
end
local start = is_there and series .. '-' .. (after + 1) or '-'
return { 'events', tonumber(last), tonumber(number), redis.call('XRANGE', KEYS[1], start, '+', 'COUNT', ARGV[3]) }
