-- standing_of(entries, name): the entry, if it can be read, and its text.
local function standing_of(entries, name)
  local text = redis.call('HGET', entries, name)
  local is_read, entry = pcall(cjson.decode, text or '')
  local is_whole = is_read and type(entry) == 'table' and type(entry.uid) == 'string'
    and type(entry.generation) == 'number' and type(entry.createdMs) == 'number'
  return is_whole and entry or nil, text
end

-- is_before(at, uid, other_at, other_uid): the order of objects by age. Kubernetes knows seconds, so UIDs decide among equals.
local function is_before(at, uid, other_at, other_uid)
  return at < other_at or (at == other_at and uid < other_uid)
end

-- changed(entries): counts a change, by which readers notice one that they have missed.
local function changed(entries)
  redis.call('HINCRBY', entries, ':changes', 1)
end
