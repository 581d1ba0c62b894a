--[[
  Writes or renews the heartbeat of a tenant's owner, unless a newer owner's heartbeat exists.

  KEYS[1]  heartbeat   hash: owner, ownedSinceMs, info

  ARGV[1]  owner
  ARGV[2]  when it took the tenant over, ms since the epoch
  ARGV[3]  info, JSON
  ARGV[4]  how long the heartbeat lasts, ms

  Output   1 announced; 0 a newer owner's heartbeat exists
]]
local living = redis.call('HMGET', KEYS[1], 'owner', 'ownedSinceMs')
local isNewer = living[1] and living[1] ~= ARGV[1] and tonumber(living[2]) > tonumber(ARGV[2])
if isNewer then return 0 end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'ownedSinceMs', ARGV[2], 'info', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
