-- compared(generation, identity): whether the data of this very Redis process were compared with the cluster. Where they
-- were not, an absence here means nothing.
local function compared(generation, identity)
  return redis.call('HGET', generation, 'identity') == identity
end
