--[[
  Begins a replay of one collection's index. The index is unreadable until the replay finishes. Any earlier replay
  becomes void, because its token is overwritten.

  KEYS[1]      position   hash: transactionId, position, replay, and a field for the length of each area
  KEYS[2...]   areas      hashes

  ARGV[1]      token of this replay
  ARGV[2]      transaction id that the index must be at, to continue from there; '' to drop the index first
  ARGV[3...]   for each area, in the order of the keys: its field in `position`

  Output       1 begun; 0 the index is elsewhere and was not touched
]]
if ARGV[2] == '' then
  redis.call('UNLINK', unpack(KEYS))
  redis.call('HSET', KEYS[1], 'replay', ARGV[1])
  return 1
end
local position = redis.call('HMGET', KEYS[1], 'transactionId', unpack(ARGV, 3))
if position[1] ~= ARGV[2] then return 0 end
for area = 2, #KEYS do
  if position[area] ~= tostring(redis.call('HLEN', KEYS[area])) then return 0 end
end
redis.call('HSET', KEYS[1], 'transactionId', '', 'replay', ARGV[1])
redis.call('HDEL', KEYS[1], 'position', unpack(ARGV, 3))
return 1
