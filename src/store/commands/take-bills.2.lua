-- Reads bills that wait, for the one replica that sends. They stay until the table has answered.
-- @include time
-- KEYS: lease (string) outbox (hash)
-- ARGV: token limit
--   limit: of bills; which of more is by chance
-- returns: nil if another has the lease; else the time in ms, when the outbox was found to be whole or '', bills that wait,
--   field, text, …
local lease, outbox = unpack(KEYS)
local token, limit = unpack(ARGV)
if redis.call('GET', lease) ~= token then
  return nil
end
local complete = redis.call('HGET', outbox, ':complete') or ''
local count = redis.call('HLEN', outbox) - redis.call('HEXISTS', outbox, ':complete') - redis.call('HEXISTS', outbox, ':compare')
local answer = { whole(now_ms()), complete, count }
local flat
if count > tonumber(limit) then
  flat = redis.call('HRANDFIELD', outbox, limit, 'WITHVALUES')
else
  flat = redis.call('HGETALL', outbox)
end
for i = 1, #flat, 2 do
  if string.sub(flat[i], 1, 1) ~= ':' then
    answer[#answer + 1] = flat[i]
    answer[#answer + 1] = flat[i + 1]
  end
end
return answer
