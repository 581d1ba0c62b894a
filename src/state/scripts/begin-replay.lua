--[[
  Begins a replay of one collection's index: the index is unreadable until the replay has finished, and any
  replay begun before is void, because its token is gone.

  KEYS[1]      position   hash: transactionId, position, replay, and a field for the length of each area
  KEYS[2...]   areas      hashes

  ARGV[1]      token of this replay
  ARGV[2]      transaction id that the index must be at, to go on from there; '' to drop everything and start anew
  ARGV[3...]   for each area, in the order of the keys: its field in `position`

  Output       1 begun; 0 the index is elsewhere and was not touched
]]
if ARGV[2] == '' then
  redis.call('UNLINK', unpack(KEYS))
  redis.call('HSET', KEYS[1], 'replay', ARGV[1])
  return 1
end
local held = redis.call('HMGET', KEYS[1], 'transactionId', unpack(ARGV, 3))
if held[1] ~= ARGV[2] then return 0 end
for area = 2, #KEYS do
  if held[area] ~= tostring(redis.call('HLEN', KEYS[area])) then return 0 end
end
redis.call('HSET', KEYS[1], 'transactionId', '', 'replay', ARGV[1])
redis.call('HDEL', KEYS[1], 'position', unpack(ARGV, 3))
return 1
