-- read_series(stream, series, after, count): reads a stream after a place, through all of its series. A place that is not in it
-- was trimmed, or belongs to a stream that was lost and begun anew: it is read from its start. Series '' is the newest one.
-- Returns {'none'} (no such stream) | {'events', newest series, newest seq, entries}
local function read_series(stream, series, after, count)
  local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
  if not newest then
    return { 'none' }
  end
  local last, number = string.match(newest[1], '^(%d+)-(%d+)$')
  if series == '' then
    series = last
  end
  local place = series .. '-' .. after
  local is_there = tonumber(series) <= tonumber(last)
  if is_there and tonumber(after) > 0 then
    is_there = #redis.call('XRANGE', stream, place, place) > 0
  end
  local start = is_there and series .. '-' .. (tonumber(after) + 1) or '-'
  return { 'events', tonumber(last), tonumber(number), redis.call('XRANGE', stream, start, '+', 'COUNT', count) }
end
