-- Lists operations to own: waiting ones, oldest first, except those that are held; owned ones whose lease has ended by this
-- clock, or all of them with their beats; and those past their deadline. A replica without the sealing key gets nothing.
-- The others keep that key named, or name the next one.
-- @include time generation sealing
-- KEYS: generation (hash) waiting (zset) owned (zset) deadlines (zset) hold (string) sealing (string)
-- ARGV: identity limit all passedHold sealingIds keepSealingMs idleSealingMs
--   all: '1' for all owned operations
--   passedHold: a hold that this replica has seen last for its whole time by its own clock
-- returns: {'comparing'} | {'sealed'} (with a key that is not ours) | {now, hold, {name, op, …}, {name, end, …}, {name, …}}
local generation, waiting, owned, deadlines, hold, sealing = unpack(KEYS)
local identity, limit, all, passed, sealing_ids, keep_sealing_ms, idle_sealing_ms = unpack(ARGV)
if not compared(generation, identity) then
  return { 'comparing' }
end
if not may_open(sealing, sealing_ids) then
  return { 'sealed' }
end
keep_named(sealing, sealing_ids, keep_sealing_ms, idle_sealing_ms)
local now = whole(now_ms())
local held = redis.call('GET', hold) or '0'
local above = held == passed and '-inf' or '(' .. held
return {
  now,
  held,
  redis.call('ZRANGE', waiting, above, '+inf', 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES'),
  redis.call('ZRANGE', owned, '-inf', all == '1' and '+inf' or now, 'BYSCORE', 'WITHSCORES'),
  redis.call('ZRANGE', deadlines, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit),
}
