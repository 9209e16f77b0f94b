-- As `read-activity`, with the lab's record at the same moment, if it runs without an operation.
-- @include time activity activity-read generation
-- KEYS: floor (hash) activity (hash) flushed (hash) generation (hash) record (hash)
-- ARGV: identity podUid behindMs forgetMs
-- returns: {'comparing'} | {'read', {…} as `read-activity`, {op, podUid, nsUid, view, credential} or {}}
local floor, activity, flushed, generation, record = unpack(KEYS)
if not compared(generation, ARGV[1]) then
  return { 'comparing' }
end
local keys = { floor = floor, activity = activity, flushed = flushed }
local status, active = unpack(redis.call('HMGET', record, 'status', 'active'))
local lab = {}
if status == 'running' and active ~= '1' then
  lab = redis.call('HMGET', record, 'op', 'podUid', 'nsUid', 'view', 'credential')
end
return { 'read', answer_read(keys, unpack(ARGV)), lab }
