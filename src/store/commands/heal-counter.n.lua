-- Sets counters that ran ahead of Redis' clock back to this clock, or to the highest trusted number: that of ops, and those of
-- kinds whose claims draw a number. If ops of labs may be wrong, all records of labs must be compared with the cluster before
-- anything is answered; so must those of machines with the cloud, by keys of their own.
-- @include time draw
-- KEYS: last (string) hold (string) generation (hash) doubt (string) mark (string), then for each kind: epochs (string)
-- ARGV: trusted compare
--   compare: '1' if a compare is needed, else ''
-- returns: the new value of the counter of ops
local last, hold, generation, doubt, mark = unpack(KEYS, 1, 5)
local trusted, compare = tonumber(ARGV[1]), ARGV[2]
for _, counter in ipairs({ last, unpack(KEYS, 6) }) do
  if ahead(tonumber(redis.call('GET', counter) or 0)) then
    redis.call('SET', counter, whole(ahead(trusted) and now_us() or math.max(trusted, now_us())))
  end
end
if ahead(tonumber(redis.call('GET', hold) or 0)) then
  redis.call('DEL', hold)
end
if compare == '1' then
  redis.call('DEL', generation, doubt, mark)
end
return redis.call('GET', last) or '0'
