-- What counts of containers that wait or run, of outputs, and of containers that have ended. Needs `dispatch`.
-- `keys.kept` has the sum of what waits or runs (`active`), which is that of the field `bytes` of all records, and that of `keys.bytes`.
-- It also has the sum of outputs and of what has ended (`bytes`), which is that of the field `kept` of all records, the part of it
-- without outputs (`records`), and how much may be kept: `most` containers that have ended, `mostBytes`.

-- What counts of a container that waits or runs, beside its view and its specification: about as much as Redis needs.
local active_least = 7168

local function active_bytes(view, spec)
  return active_least + #view + #spec
end

local function add_active(owner, bytes)
  redis.call('HINCRBY', keys.kept, 'active', whole(bytes))
  if redis.call('HINCRBY', keys.bytes, owner, whole(bytes)) <= 0 then
    redis.call('HDEL', keys.bytes, owner)
  end
end

-- begin_active(uuid, owner, bytes): a new container counts from here on, until `end_active`.
local function begin_active(uuid, owner, bytes)
  redis.call('HSET', container_key(uuid), 'bytes', whole(bytes))
  add_active(owner, bytes)
end

-- end_active(container): it has ended. What was added goes, whatever it was.
local function end_active(container)
  local bytes = redis.call('HGET', container_key(container.uuid), 'bytes')
  if bytes then
    redis.call('HDEL', container_key(container.uuid), 'bytes')
    add_active(container.owner, 0 - tonumber(bytes))
  end
end

-- too_many_of(owner, bytes, most_of_owner, most): whose bytes would be too many with so many more: 'owner', 'all', or nil.
local function too_many_of(owner, bytes, most_of_owner, most)
  if tonumber(redis.call('HGET', keys.bytes, owner) or 0) + bytes > most_of_owner then
    return 'owner'
  end
  return tonumber(redis.call('HGET', keys.kept, 'active') or 0) + bytes > most and 'all' or nil
end

-- What counts beside the pieces of an output, beside the view of an ended container, and for each of its events: about as much as
-- Redis needs. Nothing that is dropped counts less, so that a few drops make room for whatever one script adds.
local output_least, ended_least, event_bytes = 4096, 8192, 128
-- Dropped by one script, and bytes of that, about: no script is long. An output grows by 1.2 MB at most, and an ended record is
-- smaller: 300 drops free as much.
local most_dropped, most_freed = 300, 1500000

-- Records of what has ended may always have this part of all bytes: else the outputs of what runs would drop each container at its
-- end, before anybody has read it.
local records_part = 1 / 4

local function output_bytes(head, tail)
  local pieces = tonumber(head or 0) + tonumber(tail or 0)
  return pieces > 0 and pieces + output_least or 0
end

-- add_kept(uuid, bytes): so many bytes more, or fewer, count for this container.
local function add_kept(uuid, bytes)
  if bytes ~= 0 then
    redis.call('HINCRBY', container_key(uuid), 'kept', whole(bytes))
    redis.call('HINCRBY', keys.kept, 'bytes', whole(bytes))
  end
end

local function delete_output(uuid)
  redis.call('DEL', tag .. 'container-log:' .. uuid, tag .. 'container-log-tail:' .. uuid)
end

-- Deletions are first: a full Redis refuses all else as the first write of a script.
local function drop_output(uuid)
  delete_output(uuid)
  redis.call('ZREM', keys.outputs, uuid)
  local head, tail = unpack(redis.call('HMGET', container_key(uuid), 'logHead', 'logTail'))
  if head then
    add_kept(uuid, -output_bytes(head, tail))
    redis.call('HSET', container_key(uuid), 'logHead', 0, 'logTail', 0, 'logDropped', 1)
  end
end

local function drop_container(uuid)
  local owner, state, bytes, head, tail = unpack(redis.call('HMGET', container_key(uuid), 'owner', 'state', 'kept', 'logHead',
    'logTail'))
  delete_output(uuid)
  redis.call('DEL', container_key(uuid), tag .. 'container-events:' .. uuid)
  redis.call('ZREM', keys.ended, uuid)
  redis.call('ZREM', keys.outputs, uuid)
  redis.call('ZREM', keys.all, uuid)
  if owner then
    redis.call('ZREM', owner_key(owner), uuid)
    redis.call('ZREM', state_key(state), uuid)
    bytes = tonumber(bytes or 0)
    redis.call('HINCRBY', keys.kept, 'bytes', whole(-bytes))
    redis.call('HINCRBY', keys.kept, 'records', whole(output_bytes(head, tail) - bytes))
  end
end

local function bytes_kept(of)
  return tonumber(redis.call('HGET', keys.kept, of or 'bytes') or 0)
end

-- drop_one(limits): drops the container that ended first, if it is too old or one too many; if there are too many bytes, the output
-- that ended first, and without outputs that container, but for the part of records. Returns false if nothing is too much.
local function drop_one(limits)
  local first, ended_ms = unpack(redis.call('ZRANGE', keys.ended, 0, 0, 'WITHSCORES'))
  if not first then
    return false
  end
  local is_old = limits.since_ms and tonumber(ended_ms) <= limits.since_ms
  if is_old or redis.call('ZCARD', keys.ended) > limits.most then
    drop_container(first)
    return true
  end
  if bytes_kept() <= limits.most_bytes then
    return false
  end
  local output = redis.call('ZRANGE', keys.outputs, 0, 0)[1]
  if output then
    drop_output(output)
    return true
  end
  if bytes_kept('records') <= limits.most_bytes * records_part then
    return false
  end
  drop_container(first)
  return true
end

-- keep_within(limits): drops what has ended until the limits hold, or as much as one script may. Returns how many were dropped.
local function keep_within(limits)
  local dropped, bytes = 0, bytes_kept()
  while dropped < most_dropped and bytes - bytes_kept() < most_freed and drop_one(limits) do
    dropped = dropped + 1
  end
  return dropped
end

-- make_room(): after something was added. The limits are those of the last sweep, which alone looks for what is too old.
local function make_room()
  local most, most_bytes = unpack(redis.call('HMGET', keys.kept, 'most', 'mostBytes'))
  if most then
    keep_within({ most = tonumber(most), most_bytes = tonumber(most_bytes) })
  end
end

-- keep_ended(container): it has ended, and counts from here on. It stands behind all others, also when Redis' clock stepped back: it
-- would be dropped before anybody has read its end.
local function keep_ended(container)
  local last = redis.call('ZRANGE', keys.ended, -1, -1, 'WITHSCORES')[2]
  local uuid, now = container.uuid, whole(math.max(now_ms(), tonumber(last or 0)))
  local view, head, tail = unpack(redis.call('HMGET', container_key(uuid), 'view', 'logHead', 'logTail'))
  redis.call('ZADD', keys.ended, now, uuid)
  if output_bytes(head, tail) > 0 then
    redis.call('ZADD', keys.outputs, now, uuid)
  end
  local bytes = ended_least + #view + event_bytes * container.seq
  add_kept(uuid, bytes)
  redis.call('HINCRBY', keys.kept, 'records', whole(bytes))
  make_room()
end
