-- may_open(sealing, ids): true if a replica with the keys `ids` can open newly sealed plans: it has the named key, or no key
-- is named.
local function may_open(sealing, ids)
  local id = redis.call('GET', sealing)
  return not id or string.find(' ' .. ids .. ' ', ' ' .. id .. ' ', 1, true) ~= nil
end

-- sealing_key(sealing, ids): the sealing key: the named one, else the first of `ids`.
local function sealing_key(sealing, ids)
  return redis.call('GET', sealing) or string.match(ids, '^%S+')
end

-- wrongly_sealed(sealing, ids, sealed_with): why what is sealed with this key is not accepted: {'sealed'} if the others seal with a
-- key that is not ours, or {'reseal', key}. nil if it is accepted.
local function wrongly_sealed(sealing, ids, sealed_with)
  if not may_open(sealing, ids) then
    return { 'sealed' }
  end
  local key = sealing_key(sealing, ids)
  return sealed_with ~= key and { 'reseal', key } or nil
end

-- name_sealing(sealing, key, keep_ms): something is sealed with this key, so it is named from here on.
local function name_sealing(sealing, key, keep_ms)
  redis.call('SET', sealing, key, 'NX', 'PX', keep_ms)
end

-- keep_named(sealing, ids, keep_ms, idle_ms): a replica that has the named key first keeps it named. If none has done so for
-- idle_ms, a replica that has the named key names its own first key. So the key changes once, when all replicas have rotated.
local function keep_named(sealing, ids, keep_ms, idle_ms)
  local first = string.match(ids, '^%S+')
  local left = redis.call('PTTL', sealing)
  if left < keep_ms - idle_ms or redis.call('GET', sealing) == first then
    redis.call('SET', sealing, first, 'PX', keep_ms)
  elseif left > tonumber(keep_ms) then
    -- Redis' clock stepped back.
    redis.call('PEXPIRE', sealing, keep_ms)
  end
end
