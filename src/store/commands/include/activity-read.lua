-- is_behind(flushed, behind_ms, forget_ms): true if a gateway has not told for behind_ms what it saw. One that has not for
-- forget_ms is gone. Needs `time`.
local function is_behind(flushed, behind_ms, forget_ms)
  local marks = redis.call('HGETALL', flushed)
  for i = 2, #marks, 2 do
    local ago = now_ms() - tonumber(marks[i])
    -- A mark that is ahead was written before the clock went back.
    if math.abs(ago) <= tonumber(forget_ms) and (ago < 0 or ago > tonumber(behind_ms)) then
      return true
    end
  end
  return false
end

-- answer_read(keys, identity, pod_uid, behind_ms, forget_ms): what a check reads of an incarnation:
-- {now, floor, touches, is traffic behind (1 or 0), last, source, {field, value, …}}; no fields if nothing is known of this
-- incarnation. keys: floor, activity, flushed. Needs `activity`.
local function answer_read(keys, identity, pod_uid, behind_ms, forget_ms)
  local floor = floor_of(keys.floor, identity)
  local known = known_of(keys.activity)
  local last, source = latest(known)
  local fields = {}
  if known.pod == pod_uid then
    for field, value in pairs(known) do
      fields[#fields + 1], fields[#fields + 2] = field, value
    end
  end
  local behind = is_behind(keys.flushed, behind_ms, forget_ms) and 1 or 0
  return { whole(now_ms()), whole(floor), known.touches or '0', behind, whole(last), source, fields }
end
