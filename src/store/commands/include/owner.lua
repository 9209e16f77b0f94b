-- fenced(record, op, token): true if a write by (op, token) must be refused. A missing record is refused too, never taken
-- for a new one (P1).
local function fenced(record, op, token)
  local current = redis.call('HMGET', record, 'op', 'token', 'active')
  return current[1] ~= op or current[2] ~= token or current[3] ~= '1'
end

-- set_fields(record, json): sets the fields of a flat JSON list [name, value, …]
local function set_fields(record, json)
  local fields = cjson.decode(json)
  if #fields > 0 then
    redis.call('HSET', record, unpack(fields))
  end
end
