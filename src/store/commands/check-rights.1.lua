-- Tells which of some commands the user of Redis may not call. The server judges, and nothing is called.
-- KEYS: key (any): any of the installation
-- ARGV: [[command, argument, …], …] as JSON; the argument KEY stands for the key
-- returns: the names of those that are not permitted; none where the server cannot judge
local missing = {}
if not redis.acl_check_cmd then
  return missing
end
for _, words in ipairs(cjson.decode(ARGV[1])) do
  for i, word in ipairs(words) do
    if word == 'KEY' then
      words[i] = KEYS[1]
    end
  end
  if not redis.acl_check_cmd(unpack(words)) then
    table.insert(missing, words[1])
  end
end
return missing
