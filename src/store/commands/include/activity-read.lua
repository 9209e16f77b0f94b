-- is_untold(flushed, behind_ms, forget_ms): true unless a gateway tells what it sees, and none is behind, which has not told for
-- behind_ms. One that has not for forget_ms is gone. Needs `time`.
local function is_untold(flushed, behind_ms, forget_ms)
  local marks, told = redis.call('HGETALL', flushed), false
  for i = 2, #marks, 2 do
    local ago = now_ms() - tonumber(marks[i])
    if math.abs(ago) <= tonumber(forget_ms) then
      -- A mark that is ahead was written before the clock went back.
      if ago < 0 or ago > tonumber(behind_ms) then
        return true
      end
      told = true
    end
  end
  return not told
end

-- answer_read(keys, identity, pod_uid, behind_ms, forget_ms): what a check reads of an incarnation:
-- {now, floor, touches, is traffic untold (1 or 0), last, source, {field, value, …}}; no fields if nothing is known of this
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
  local untold = is_untold(keys.flushed, behind_ms, forget_ms) and 1 or 0
  return { whole(now_ms()), whole(floor), known.touches or '0', untold, whole(last), source, fields }
end
