-- Puts a bill into the outbox. A late writer puts nothing that is older than what was put, and nothing after the end. It spares
-- work alone: the table itself refuses what is older. Sent again, it changes nothing more.
-- @include time bills
-- KEYS: outbox (hash) marks (hash)
-- ARGV: uid field generation revision bill most keepMs again full
--   field: of the outbox
--   generation: 0 and less than all for the end
--   bill: as JSON
--   most: bills of one LNamespace that wait; the oldest of more is dropped
--   again: '1': whoever asks has read the table, so what was sent before counts for nothing
--   full: bills of all that wait; one more is not put, and the outbox is not complete any more
-- returns: 'put' | 'same' | 'older' | 'full'
local outbox, marks = unpack(KEYS)
local uid, field, generation, revision, bill, most, keep_ms, again, full = unpack(ARGV)
local is_end = generation == '0'
local mark = mark_of(marks, uid)
local waits = redis.call('HEXISTS', outbox, field) == 1
if waits then
  return 'same'
end
if again ~= '1' then
  if mark.ended then
    return is_end and 'same' or 'older'
  end
  if not is_end and tonumber(generation) < mark.generation then
    return 'older'
  end
  if not is_end and tonumber(generation) == mark.generation and tonumber(revision) <= mark.revision then
    return 'same'
  end
end
if redis.call('HLEN', outbox) >= tonumber(full) then
  -- Nor is it by the compare that runs now.
  redis.call('HDEL', outbox, ':complete', ':compare')
  return 'full'
end
while #mark.fields >= tonumber(most) do
  redis.call('HDEL', outbox, table.remove(mark.fields, 1))
end
redis.call('HSET', outbox, field, whole(now_ms()) .. ' ' .. bill)
mark.fields[#mark.fields + 1] = field
mark.ended = is_end
mark.generation, mark.revision = tonumber(generation), tonumber(revision)
keep_mark(marks, uid, mark)
redis.call('PEXPIRE', outbox, keep_ms)
redis.call('PEXPIRE', marks, keep_ms)
return 'put'
