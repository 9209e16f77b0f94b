-- note(audit, op, kind, result, by, after_ms): leaves a note of what the audit log must tell; other replicas tell it when
-- that time has passed. Nothing is left where `by` is empty. All notes expire a week after the last one: where a release
-- without an audit log is rolled back to, nobody tells them. Needs `time`.
local function note(audit, op, kind, result, by, after_ms)
  if not by or by == '' then
    return
  end
  redis.call('ZADD', audit, whole(now_ms() + after_ms), table.concat({ op, kind, result, by }, ' '))
  redis.call('PEXPIRE', audit, 604800000)
end

-- by_of(op, kept): who asked for this very operation, of a record's field `by`; '' where it is of another one.
local function by_of(op, kept)
  local of, by = string.match(kept or '', '^(%d+) (.*)$')
  return of == op and by or ''
end

-- keep_by(op, by): that field.
local function keep_by(op, by)
  return (by and by ~= '') and (op .. ' ' .. by) or ''
end
