-- Sets a counter that ran ahead of Redis' clock back to this clock, or to the highest trusted number. All records must then
-- be compared with the cluster before anything is answered.
-- @include time draw
-- KEYS: last (string) hold (string) generation (hash) doubt (string) mark (string)
-- ARGV: trusted
-- returns: the new value of the counter
local last, hold, generation, doubt, mark = unpack(KEYS)
if ahead(tonumber(redis.call('GET', last) or 0)) then
  local trusted = tonumber(ARGV[1])
  redis.call('SET', last, whole(ahead(trusted) and now_us() or math.max(trusted, now_us())))
end
if ahead(tonumber(redis.call('GET', hold) or 0)) then
  redis.call('DEL', hold)
end
redis.call('DEL', generation, doubt, mark)
return redis.call('GET', last) or '0'
