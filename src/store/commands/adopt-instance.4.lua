-- Adopts a machine of the cloud that no record has: under the name that its tag says, if that is not in use, else under another
-- one. Only the compare in progress does so, or the replica that sweeps. Sent again, it answers `known`.
-- @include time events draw generation sealing dispatch kept containers machines
-- KEYS: generation (hash) mark (string) lease (string) sealing (string)
-- ARGV: identity mark token instance intent intentOp intentPlan spare spareOp sparePlan nonce brief timeoutMs hostKey sealedWith
--     sealingIds keepSealingMs
--   mark, token: of the compare, or of the lease; the other one is ''
--   intent, intentOp, intentPlan: '' without a name in the tag; spare, …: of an op that was drawn for this
--   brief: as JSON, without name, op and what is told below
-- returns: {'adopted', name} | {'known', name} | {'late', name} (its intent is over, so that it ends) | {'unmarked'} | {'sealed'} |
--   {'reseal', key}
local generation, mark, lease, sealing = unpack(KEYS)
local identity, mark_value, token, instance, intent, intent_op, intent_plan, spare, spare_op, spare_plan, nonce, json, timeout,
  host_key, sealed_with, sealing_ids, keep_sealing_ms = unpack(ARGV)
local by_mark = mark_value ~= '' and redis.call('GET', mark) == mark_value
local by_lease = token ~= '' and redis.call('GET', lease) == token and compared(generation, identity)
if not by_mark and not by_lease then
  return { 'unmarked' }
end
local known = redis.call('HGET', keys.ids, instance)
if known then
  return { 'known', known }
end
local name, op, plan, late = spare, spare_op, spare_plan, false
if intent ~= '' and not ahead(tonumber(intent_op)) then
  local of_intent = machine_of(intent)
  local has_record = redis.call('EXISTS', machine_key(intent)) == 1
  if of_intent and of_intent.instance == '' and of_intent.ending == '' then
    -- Its keeper is creating it, and finds it.
    return { 'known', intent }
  end
  local is_gone = not of_intent and (has_record or redis.call('EXISTS', tag .. 'instance-tombstone:' .. intent) == 1)
  late = is_gone or (of_intent ~= nil and of_intent.instance == '')
  if not late and not has_record then
    name, op, plan = intent, intent_op, intent_plan
  end
end
local refusal = wrongly_sealed(sealing, sealing_ids, sealed_with)
if refusal then
  return refusal
end
name_sealing(sealing, sealed_with, keep_sealing_ms)
if tonumber(op) > tonumber(redis.call('GET', keys.last) or 0) then
  redis.call('SET', keys.last, op)
end
local brief = cjson.decode(json)
brief.name, brief.op, brief.instance, brief.version = name, op, instance, 0
brief.state, brief.sinceMs, brief.createdMs, brief.probedMs, brief.busyMs = 'unknown', now_ms(), now_ms(), 0, 0
brief.broken, brief.ending, brief.lastContainer = '', '', ''
redis.call('HSET', keys.unasked, name, whole(now_ms()))
accept_machine(brief, nonce, plan, tonumber(timeout))
redis.call('HSET', machine_key(name), 'hostKey', host_key)
if late then
  end_machine(brief, 'its intent is over')
end
return { late and 'late' or 'adopted', name }
