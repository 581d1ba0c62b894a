--[[
  Queues a request for a tenant's owner, unless too many are waiting.

  KEYS[1]  requests   list of JSON, oldest first
  KEYS[2]  asker      string; exists while a process waits for the answer

  ARGV[1]  request, JSON
  ARGV[2]  most requests that may wait
  ARGV[3]  how long the asker counts as alive, ms
  ARGV[4]  how long the list lasts after the last addition, ms

  Output   1 queued; 0 too many are waiting
]]
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[2], '1', 'PX', ARGV[3])
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
