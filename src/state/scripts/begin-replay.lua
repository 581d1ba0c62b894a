--[[
  Begins a replay of one collection's index: the index is unreadable until the replay has finished, and any
  replay begun before is void, because its token is gone.

  KEYS[1]  position   hash: transactionId, position, rowCount, rejectCount, replay
  KEYS[2]  rows       hash
  KEYS[3]  rejects    hash

  ARGV[1]  token of this replay
  ARGV[2]  transaction id that the index must be at, to go on from there; '' to drop everything and start anew

  Output   1 begun; 0 the index is elsewhere and was not touched
]]
if ARGV[2] == '' then
  redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
  redis.call('HSET', KEYS[1], 'replay', ARGV[1])
  return 1
end
local held = redis.call('HMGET', KEYS[1], 'transactionId', 'rowCount', 'rejectCount')
local isThere = held[1] == ARGV[2]
  and held[2] == tostring(redis.call('HLEN', KEYS[2]))
  and held[3] == tostring(redis.call('HLEN', KEYS[3]))
if not isThere then return 0 end
redis.call('HSET', KEYS[1], 'transactionId', '', 'replay', ARGV[1])
redis.call('HDEL', KEYS[1], 'position', 'rowCount', 'rejectCount')
return 1
