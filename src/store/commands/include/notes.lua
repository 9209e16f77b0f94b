-- note(audit, op, kind, result, by, after_ms): leaves a note of a line for the audit log. After `after_ms` other replicas may
-- write the line. `kind` is that of the operation. A note names no kind of subjects, so only operations on labs leave one.
-- Leaves nothing if `by` is empty. All notes expire a week after the last one, since a release without an audit log never
-- removes them. Needs `time`.
local function note(audit, op, kind, result, by, after_ms)
  if not by or by == '' then
    return
  end
  redis.call('ZADD', audit, whole(now_ms() + after_ms), table.concat({ op, kind, result, by }, ' '))
  redis.call('PEXPIRE', audit, 604800000)
end

-- by_of(op, kept): the operation's origin from a record's field `by`; '' if the field is of another operation.
local function by_of(op, kept)
  local of, by = string.match(kept or '', '^(%d+) (.*)$')
  return of == op and by or ''
end

-- keep_by(op, by): the value of that field.
local function keep_by(op, by)
  return (by and by ~= '') and (op .. ' ' .. by) or ''
end
