-- mark_of(marks, uid): what was put last for an LNamespace, and the fields of the outbox in which its bills wait, by age.
local function mark_of(marks, uid)
  local text = redis.call('HGET', marks, uid) or '0 0 0'
  local ended, generation, revision, rest = string.match(text, '^(%d) (%d+) (%d+)(.*)$')
  local fields = {}
  for field in string.gmatch(rest or '', '%S+') do
    fields[#fields + 1] = field
  end
  return { ended = ended == '1', generation = tonumber(generation) or 0, revision = tonumber(revision) or 0, fields = fields }
end

-- keep_mark(marks, uid, mark)
local function keep_mark(marks, uid, mark)
  local words = { mark.ended and '1' or '0', whole(mark.generation), whole(mark.revision), unpack(mark.fields) }
  redis.call('HSET', marks, uid, table.concat(words, ' '))
end
