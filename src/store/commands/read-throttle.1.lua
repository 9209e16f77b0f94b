-- Reads what the cloud's errors taught, with Redis' clock: its pauses end by that.
-- @include time
-- KEYS: throttle (string)
-- returns: {now, throttle or ''}
return { whole(now_ms()), redis.call('GET', KEYS[1]) or '' }
