-- What an operator wants of a machine. What is to end stays so. Sent again, it answers as before.
-- @include time events generation dispatch kept containers machines
-- KEYS: generation (hash)
-- ARGV: identity id what reason
--   id: the name of its record, or the cloud's id
--   what: 'run' | 'hold' | 'drain' | 'kill' (with a reason): also one that is on hold, whatever it runs
-- returns: {'set', brief} | {'ending', brief} | {'none'} | {'comparing'}
local identity, id, what, reason = unpack(ARGV)
if not compared(KEYS[1], identity) then
  return { 'comparing' }
end
local brief = machine_of(redis.call('HGET', keys.ids, id) or id)
if not brief then
  return { 'none' }
end
if brief.ending ~= '' then
  return { 'ending', cjson.encode(brief) }
end
if what == 'kill' then
  end_machine(brief, reason)
elseif brief.idleBehavior ~= what then
  brief.idleBehavior = what
  if what ~= 'run' then
    spare_machine(brief)
  end
  keep_machine(brief)
end
return { 'set', cjson.encode(brief) }
