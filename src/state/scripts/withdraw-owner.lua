--[[
  Removes an owner's heartbeat, unless it is another owner's.

  KEYS[1]  heartbeat   hash: owner, ownedSinceMs, the facts
  ARGV[1]  owner

  Output   1 removed; 0 another owner's, or none
]]
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
