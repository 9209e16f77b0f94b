-- Takes a bill out of the outbox that the table has answered, whoever has sent it: its answer is final.
-- @include time bills
-- KEYS: outbox (hash) marks (hash)
-- ARGV: uid field text
--   text: as it was read; another one stays
-- returns: 1 if it was there, else 0
local outbox, marks = unpack(KEYS)
local uid, field, text = unpack(ARGV)
if redis.call('HGET', outbox, field) ~= text then
  return 0
end
redis.call('HDEL', outbox, field)
local mark = mark_of(marks, uid)
for i = #mark.fields, 1, -1 do
  if mark.fields[i] == field then
    table.remove(mark.fields, i)
  end
end
if mark.ended and #mark.fields == 0 then
  redis.call('HDEL', marks, uid)
else
  keep_mark(marks, uid, mark)
end
return 1
