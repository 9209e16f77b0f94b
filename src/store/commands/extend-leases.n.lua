-- Extends a batch of leases, each only while its holder is the current owner of the operation. The score in `owned` is
-- the lease's end and its beat. It rises with every extension, whatever the clock does. So an observer for whom it does
-- not change knows that nobody extends the lease.
-- @include time
-- KEYS: owned (zset), then for each lease: lease (string) record (hash)
-- ARGV: ttlMs, then for each lease: name token op
-- returns: for each lease 1 (extended) or 0 (lost)
local ttl = tonumber(ARGV[1])
local answer = {}
for i = 1, (#KEYS - 1) / 2 do
  local lease, record = KEYS[2 * i], KEYS[2 * i + 1]
  local name, token, op = ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1]
  local current = redis.call('HMGET', record, 'op', 'token')
  if redis.call('GET', lease) == token and current[1] == op and current[2] == token then
    redis.call('PEXPIRE', lease, ttl)
    redis.call('ZADD', KEYS[1], math.max(now_ms() + ttl, tonumber(redis.call('ZSCORE', KEYS[1], name) or 0) + 1), name)
    answer[i] = 1
  else
    answer[i] = 0
  end
end
return answer
