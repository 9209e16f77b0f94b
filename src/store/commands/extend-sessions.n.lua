-- Extends sessions that are in use, each within its login.
-- KEYS: for each session: session (hash) login (hash)
-- ARGV: lifeMs
-- returns: how many are still there
local there = 0
for i = 1, #KEYS, 2 do
  local left = redis.call('PTTL', KEYS[i + 1])
  if left > 0 then
    there = there + redis.call('PEXPIRE', KEYS[i], math.min(tonumber(ARGV[1]), left))
  end
end
return there
