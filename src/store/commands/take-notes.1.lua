-- Gives notes of the audit log that are due, and puts them off: who takes one has so long to tell and to drop it. Sent
-- again, it gives none of those it gave before until then.
-- @include time
-- KEYS: audit (zset)
-- ARGV: limit graceMs
-- returns: {note, …}
local due = redis.call('ZRANGE', KEYS[1], '-inf', whole(now_ms()), 'BYSCORE', 'LIMIT', 0, ARGV[1])
for _, each in ipairs(due) do
  redis.call('ZADD', KEYS[1], whole(now_ms() + ARGV[2]), each)
end
return due
