--[[
  Takes an owner's sign away, if it is still its own.

  KEYS[1]  sign   hash: owner, ownedSinceMs, info
  ARGV[1]  owner

  Output   1 taken away; 0 it was another's, or gone
]]
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
