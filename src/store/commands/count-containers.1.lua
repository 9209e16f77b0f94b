-- Counts containers and machines, at a cost that does not grow with their number. Only for metrics.
-- @include time events generation dispatch
-- KEYS: generation (hash)
-- ARGV: identity
-- returns: {'counted', waiting, sent, groups, machines, unasked, ended, bytes, activeBytes} | {'comparing'}
--   bytes: of outputs and of ended containers; activeBytes: of those that wait or run
if not compared(KEYS[1], ARGV[1]) then
  return { 'comparing' }
end
return { 'counted', redis.call('HLEN', keys.waiting), redis.call('HLEN', keys.sent), redis.call('HLEN', keys.groups),
  redis.call('HLEN', keys.briefs), redis.call('HLEN', keys.unasked), redis.call('ZCARD', keys.ended),
  redis.call('HGET', keys.kept, 'bytes') or 0, redis.call('HGET', keys.kept, 'active') or 0 }
