-- Forgets what a member wanted, unless it was asked anew since.
-- KEYS: intents (hash)
-- ARGV: id atMs
-- returns: 1 if it is forgotten, else 0
local intents = KEYS[1]
local at = string.match(redis.call('HGET', intents, ARGV[1]) or '', '^(%d+) ')
return at == ARGV[2] and redis.call('HDEL', intents, ARGV[1]) or 0
