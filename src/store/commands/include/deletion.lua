-- start_deletion(keys, kind, name, op, timeout, events, request_id, traceparent, by, note_ms): turns the existing record into a
-- deletion under a new op, which any replica may claim once the lease is free. The record's UIDs in the cluster stay.
-- keys: record, events, waiting, deadlines, bell, index, audit
-- request_id, traceparent: of the request that it comes from; none for the controller's own deletions
-- by, note_ms: the origin for the audit log, and how long the caller has to write the audit line. Needs `notes`.
local function start_deletion(keys, kind, name, op, timeout, events, request_id, traceparent, by, note_ms)
  redis.call('HDEL', keys.record, 'plan', 'failing', 'failedAt', 'provisions')
  local seq = append(keys.events, op, 0, events)
  redis.call('HSET', keys.record, 'op', op, 'kind', 'delete', 'status', 'terminating', 'active', '1', 'token', '',
    'claims', 0, 'attempts', 0, 'acting', '1', 'step', '', 'seq', seq, 'progress', 0,
    'acceptedAt', whole(now_ms()), 'deadline', whole(now_ms() + timeout),
    'requestId', request_id or '', 'traceparent', traceparent or '', 'by', keep_by(op, by))
  note(keys.audit, op, 'delete', 'accepted', by, note_ms)
  redis.call('ZADD', keys.waiting, op, name)
  redis.call('ZADD', keys.deadlines, whole(now_ms() + timeout), name)
  redis.call('ZADD', keys.index, 3, name)
  redis.call('PERSIST', keys.events)
  ring(keys.bell, 'accepted', subject(kind, name), op)
end
