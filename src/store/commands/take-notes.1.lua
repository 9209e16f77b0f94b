-- Returns notes of the audit log that are due, and puts them off by graceMs: so long the caller has to write the lines and
-- drop the notes. Sent again within that time, it returns other notes.
-- @include time
-- KEYS: audit (zset)
-- ARGV: limit graceMs
-- returns: {note, …}
local due = redis.call('ZRANGE', KEYS[1], '-inf', whole(now_ms()), 'BYSCORE', 'LIMIT', 0, ARGV[1])
for _, each in ipairs(due) do
  redis.call('ZADD', KEYS[1], whole(now_ms() + ARGV[2]), each)
end
return due
