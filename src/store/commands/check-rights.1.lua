-- Lists those of some commands that the user of Redis is not allowed to call. The server judges, and nothing is called.
-- KEYS: key (any): any of the installation
-- ARGV: [[command, argument, …], …] as JSON; the argument KEY means the key
-- returns: the names of commands that are not permitted; none if the server cannot judge
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
