-- Removes from one subject's keys what a counter that ran ahead has left: parts with a number more than a day beyond Redis'
-- clock, and nothing else. Sent again it finds nothing more.
-- @include time draw
-- KEYS: record (hash) events (stream) tombstone (string) waiting (zset) owned (zset) deadlines (zset) index (zset)
-- ARGV: name
-- returns: {name, …} of the removed parts
local record, events, tombstone, waiting, owned, deadlines, index = unpack(KEYS)
local name, removed = ARGV[1], {}
if ahead(tonumber(redis.call('HGET', record, 'op') or 0)) then
  redis.call('DEL', record)
  for _, set in ipairs({ waiting, owned, deadlines, index }) do
    redis.call('ZREM', set, name)
  end
  removed[#removed + 1] = 'record'
end
if ahead(tonumber(redis.call('ZSCORE', waiting, name) or 0)) then
  redis.call('ZREM', waiting, name)
  removed[#removed + 1] = 'waiting'
end
if ahead(tonumber(redis.call('GET', tombstone) or 0)) then
  redis.call('DEL', tombstone)
  removed[#removed + 1] = 'tombstone'
end
if ahead(tonumber(redis.call('HGET', record, 'epoch') or 0)) then
  redis.call('HDEL', record, 'epoch')
  removed[#removed + 1] = 'epoch'
end
local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
if newest and ahead(tonumber(string.match(newest[1], '^%d+'))) then
  redis.call('DEL', events)
  removed[#removed + 1] = 'stream'
end
return removed
