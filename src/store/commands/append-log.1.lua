-- Keeps output of a run: the beginning of all output, and its end. Refused unless the caller owns the machine, and the run is the
-- present one of this machine. Sent again, it keeps nothing twice.
-- @include time generation events owner dispatch kept containers
-- KEYS: generation (hash)
-- ARGV: identity name op token uuid run head tail pieces
--   head, tail: bytes that are kept of the beginning, about, and of the end
--   pieces: [[first, seq, stream, base64, bytes], …] as JSON, in order, by the places in the runner's spool of their first and last
--     entries; no stream: so many bytes were lost
-- returns: {'comparing'} (the data are not compared yet: what they say of this owner may be old) |
--   {'kept', last seq} | {'torn', last seq} (of the next piece it has the beginning alone: to be sent again without that) |
--   {'other'} (this run is not this machine's any more) | {'fenced'}
local identity, name, op, token, uuid, run, head, tail, pieces = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
-- What a piece takes beside its bytes.
local overhead = 64
-- Places beyond this would not be exact: what a machine says to be lost may lead there, and nothing more is kept then.
local farthest = 2 ^ 52
if fenced(machine_key(name), op, token) then
  return { 'fenced' }
end
local container = container_of(uuid)
if not container or container.run ~= run or redis.call('HGET', keys.sent, uuid) ~= name then
  return { 'other' }
end
local record = container_key(uuid)
local log_run, seq, bytes, in_head, in_tail = unpack(redis.call('HMGET', record, 'logRun', 'logSeq', 'logBytes', 'logHead',
  'logTail'))
seq = log_run == run and tonumber(seq) or 0
bytes, in_head, in_tail = tonumber(bytes or 0), tonumber(in_head or 0), tonumber(in_tail or 0)
local counted = output_bytes(in_head, in_tail)
local before, is_torn = seq, false
for _, piece in ipairs(cjson.decode(pieces)) do
  local first, number, stream, text, size = unpack(piece)
  if number > seq then
    if first <= seq then
      is_torn = true
      break
    end
    seq = number
    local is_far = bytes + size >= farthest
    if stream ~= '' and not is_far then
      local kind = 'container-log-tail:'
      if in_head < tonumber(head) then
        kind, in_head = 'container-log:', in_head + size + overhead
      else
        in_tail = in_tail + size + overhead
      end
      redis.call('XADD', tag .. kind .. uuid, whole(bytes + 1) .. '-0', 'stream', stream, 'base64', text, 'size', size)
    end
    bytes = is_far and bytes or bytes + size
  end
end
while in_tail > tonumber(tail) do
  local oldest = redis.call('XRANGE', tag .. 'container-log-tail:' .. uuid, '-', '+', 'COUNT', 1)[1]
  if not oldest then
    in_tail = 0
    break
  end
  in_tail = in_tail - tonumber(oldest[2][6]) - overhead
  local place = tonumber(string.match(oldest[1], '^%d+'))
  redis.call('XTRIM', tag .. 'container-log-tail:' .. uuid, 'MINID', whole(place + 1))
end
if seq > before or log_run ~= run then
  redis.call('HSET', record, 'logRun', run, 'logSeq', whole(seq), 'logBytes', whole(bytes), 'logHead', whole(in_head), 'logTail',
    whole(in_tail))
  add_kept(uuid, output_bytes(in_head, in_tail) - counted)
  make_room()
  ring(keys.bell, 'events', subject('container', uuid))
end
return { is_torn and 'torn' or 'kept', whole(seq) }
