-- compared(generation, identity): true if the data of this Redis process were compared with the cluster. If not, an absence
-- here means nothing.
local function compared(generation, identity)
  return redis.call('HGET', generation, 'identity') == identity
end
