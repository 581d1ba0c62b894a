--[[
  Writes or renews the heartbeat of a tenant's owner, unless a newer owner's heartbeat exists.

  KEYS[1]  heartbeat   hash: owner, ownedSinceMs, the facts

  ARGV[1]  owner
  ARGV[2]  when it took the tenant over, ms since the epoch
  ARGV[3]  how long the heartbeat lasts, ms
  ARGV[4…] the facts, name and value in turns

  Output   1 announced; 0 a newer owner's heartbeat exists
]]
local living = redis.call('HMGET', KEYS[1], 'owner', 'ownedSinceMs')
local isNewer = living[1] and living[1] ~= ARGV[1] and tonumber(living[2]) > tonumber(ARGV[2])
if isNewer then return 0 end
-- A full Redis refuses the first write alone.
redis.call('HSET', KEYS[1], 'owner', ARGV[1])
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'ownedSinceMs', ARGV[2], unpack(ARGV, 4))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
