-- Settles one user in a compare: the cluster wins over the record that was read, unless the record has
-- changed or the compare was overtaken.
-- @include time events draw notes deletion owner
-- KEYS: mark (string) record (hash) events (stream) waiting (zset) owned (zset) deadlines (zset) bell (stream)
--   index (zset) last (string) tombstone (string) audit (zset)
-- ARGV: mark user expected outcome op highest fields events lostEvents timeoutMs by
--   expected: op, status, active, token and podUid of the record and the tombstone as they were read, joined by spaces
--   outcome: 'running' | 'failed' (restored under op) | 'delete' (a deletion under a new op)
--   lostEvents: for the stream of an operation that is overruled
--   by: the origin of the deletion for the audit log, or '' without one
-- returns: {'settled', op} | {'moved'} | {'unmarked'} | {'ahead'} (a number is beyond Redis' clock: nothing is written)
local mark, record, events, waiting, owned, deadlines, bell, index, last, tombstone, audit = unpack(KEYS)
local mark_value, user, expected, outcome, op, highest, fields, list, lost, timeout, by = unpack(ARGV)

if redis.call('GET', mark) ~= mark_value then
  return { 'unmarked' }
end
local read = redis.call('HMGET', record, 'op', 'status', 'active', 'token', 'podUid', 'seq', 'kind', 'by')
local parts = {}
for i = 1, 5 do
  parts[i] = (read[i] and read[i] ~= '') and read[i] or '-'
end
parts[6] = redis.call('GET', tombstone) or '-'
if table.concat(parts, ' ') ~= expected then
  return { 'moved' }
end
local deletion
if outcome == 'delete' then
  deletion = draw(last, read[1], op, highest)
end
if ahead(tonumber(op)) or (outcome == 'delete' and not deletion) then
  return { 'ahead' }
end

if read[3] == '1' then
  append(events, read[1], tonumber(read[6]), lost)
  ring(bell, 'ended', lab(user), read[1])
  note(audit, read[1], read[7], 'overruled', by_of(read[1], read[8]), 0)
end
if outcome == 'delete' then
  set_fields(record, fields)
  local keys = { record = record, events = events, waiting = waiting, deadlines = deadlines, bell = bell, index = index,
    audit = audit }
  start_deletion(keys, 'lab', user, deletion, timeout, list, '', '', by, 0)
  return { 'settled', deletion }
end
-- The stream would refuse an id below its last one: its entries belong to operations that were lost.
local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
if newest and tonumber(string.match(newest[1], '^%d+')) >= tonumber(op) then
  redis.call('DEL', events)
end
redis.call('DEL', record, tombstone)
redis.call('PERSIST', events)
set_fields(record, fields)
local seq = append(events, op, 0, list)
redis.call('HSET', record, 'op', op, 'kind', 'create', 'status', outcome, 'active', '0', 'token', '', 'seq', seq,
  'claims', 0, 'attempts', 0, 'acting', '0', 'failedAt', outcome == 'failed' and whole(now_ms()) or '')
redis.call('ZREM', waiting, user)
redis.call('ZREM', owned, user)
redis.call('ZREM', deadlines, user)
redis.call('ZADD', index, outcome == 'running' and 2 or 4, user)
if outcome == 'failed' then
  ring(bell, 'failed', lab(user), op)
end
ring(bell, 'ended', lab(user), op)
return { 'settled', op }
