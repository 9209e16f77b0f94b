-- Adds the events that have not been told yet to the stream of a tenant. Any replica may send what it sees, at any time and
-- again: a grant only goes on, from granted (1) to effective (2) to ended (3), and an older version changes nothing else.
-- @include time events
-- KEYS: record (hash) events (stream) bell (stream)
-- ARGV: name uid generation version ready grants keepMs most
--   ready: data of the event `condition`, or ''
--   grants: [{id, user, until_ms, events}, …] as JSON, where events are [[rank, event, data], …] up to the present one; all
--     grants of this version, and those that ended a moment ago
--   keepMs: how long all of this stays after the last call; most: events that are kept, about
-- returns: event and data of what was added, in turns
local record, events, bell = unpack(KEYS)
local name, uid, generation, version, ready, grants, keep_ms, most = unpack(ARGV)
-- How long an end is remembered, so that a replica behind does not tell it again.
local forget_ms = 600000
local known = {}
local flat = redis.call('HGETALL', record)
for i = 1, #flat, 2 do
  known[flat[i]] = flat[i + 1]
end
-- Numbers of events are above `base`; `top` is the highest one so far.
local base, top = tonumber(known.base or 0), tonumber(known.top or 0)
local is_old = tonumber(version) < tonumber(known.version or 0)
if known.uid and known.uid ~= uid then
  if is_old then
    return {}
  end
  redis.call('DEL', record, events)
  known = {}
  -- No id of the former one is one of this, whose generations are often the same.
  base = top
  redis.call('HSET', record, 'base', whole(base), 'top', whole(top))
end
local list, added = {}, {}
local function tell(event, data)
  list[#list + 1] = { event, data }
  added[#added + 1], added[#added + 2] = event, data
end
local function keep(id, rank, user, until_ms)
  local since = rank == 3 and whole(now_ms()) or ''
  redis.call('HSET', record, 'g:' .. id, cjson.encode({ rank, user, until_ms, since }))
end

if not is_old and ready ~= '' and known.ready ~= ready then
  tell('condition', ready)
  redis.call('HSET', record, 'ready', ready)
end
local present = {}
for _, grant in ipairs(cjson.decode(grants)) do
  local id, user, until_ms, steps = unpack(grant)
  present['g:' .. id] = true
  local before = known['g:' .. id] and cjson.decode(known['g:' .. id])[1] or 0
  local rank = before
  for _, step in ipairs(steps) do
    if step[1] > before then
      rank = step[1]
      tell(step[2], step[3])
    end
  end
  if rank > before then
    keep(id, rank, user, until_ms)
  end
end
for field, value in pairs(known) do
  if string.sub(field, 1, 2) == 'g:' and not present[field] and not is_old then
    local rank, user, until_ms, since = unpack(cjson.decode(value))
    local id = string.sub(field, 3)
    if rank < 3 then
      local why = until_ms <= now_ms() and 'until' or 'unknown'
      tell('ended', cjson.encode({ id = id, user = user, why = why }))
      keep(id, 3, user, until_ms)
    elseif tonumber(since) + forget_ms < now_ms() then
      redis.call('HDEL', record, field)
    end
  end
end

if not is_old and known.version ~= version then
  redis.call('HSET', record, 'uid', uid, 'version', version)
end
if #list > 0 then
  local series, seq = tonumber(generation), base
  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
  if newest then
    local last, number = string.match(newest[1], '^(%d+)-(%d+)$')
    -- Ids never fall, whatever an older replica knows.
    if tonumber(last) >= series then
      series, seq = tonumber(last), tonumber(number)
    end
  end
  seq = append(events, whole(series), seq, cjson.encode(list))
  redis.call('HSET', record, 'top', whole(math.max(top, seq)))
  redis.call('XTRIM', events, 'MAXLEN', '~', most)
  ring(bell, 'events', subject('tenant', name))
end
redis.call('PEXPIRE', record, keep_ms)
redis.call('PEXPIRE', events, keep_ms)
return added
