--[[
  Tells that a tenant's owner lives, unless a newer owner has told so.

  KEYS[1]  sign   hash: owner, ownedSinceMs, info

  ARGV[1]  owner
  ARGV[2]  when it took the tenant over, ms since the epoch
  ARGV[3]  info, JSON
  ARGV[4]  for how long the sign stands, ms

  Output   1 announced; 0 a newer owner stands there
]]
local held = redis.call('HMGET', KEYS[1], 'owner', 'ownedSinceMs')
local isNewer = held[1] and held[1] ~= ARGV[1] and tonumber(held[2]) > tonumber(ARGV[2])
if isNewer then return 0 end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'ownedSinceMs', ARGV[2], 'info', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
