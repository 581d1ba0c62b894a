--[[
  Writes changes to one collection's index, and where it then stands, in one atomic step, if the index is where
  the writer left it.

  The transaction id is blanked before anything else is written: this is where Redis refuses a write for want of
  memory, before any change, and whatever fails later leaves an index that counts as unknown, never a wrong one.

  KEYS[1]  position   hash: transactionId, position, rowCount, rejectCount, replay
  KEYS[2]  rows       hash: key -> 16 bytes
  KEYS[3]  rejects    hash: key -> 16 bytes

  ARGV[1]  field of `position` that guards the write: 'transactionId', or 'replay' amid a replay
  ARGV[2]  what it must hold; '' with 'transactionId': the index must be empty
  ARGV[3]  new transaction id; '' leaves the index unreadable, amid its replay
  ARGV[4]  new position, JSON
  ARGV[5]  number of arguments with rows to set (two each), first among ARGV[9...]
  ARGV[6]  number of rows to remove, next
  ARGV[7]  number of arguments with rejects to set (two each), next
  ARGV[8]  number of rejects to remove, last
  ARGV[9...]

  Output   1 written; 0 the index is elsewhere and was not touched
]]
local CHUNK = 7000 -- even, and below what unpack takes (8000)

local function countOf(key)
  return tostring(redis.call('HLEN', key))
end

local function isGuardMet()
  local held = redis.call('HMGET', KEYS[1], ARGV[1], 'rowCount', 'rejectCount')
  local value = held[1] or ''
  if value ~= ARGV[2] then return false end
  if ARGV[1] == 'replay' then return value ~= '' end
  if value == '' then return countOf(KEYS[2]) == '0' and countOf(KEYS[3]) == '0' end
  return held[2] == countOf(KEYS[2]) and held[3] == countOf(KEYS[3])
end

local function callInChunks(command, key, from, count)
  local last = from + count - 1
  for first = from, last, CHUNK do
    redis.call(command, key, unpack(ARGV, first, math.min(first + CHUNK - 1, last)))
  end
  return from + count
end

if not isGuardMet() then return 0 end
redis.call('HSET', KEYS[1], 'transactionId', '')
local at = callInChunks('HSET', KEYS[2], 9, tonumber(ARGV[5]))
at = callInChunks('HDEL', KEYS[2], at, tonumber(ARGV[6]))
at = callInChunks('HSET', KEYS[3], at, tonumber(ARGV[7]))
callInChunks('HDEL', KEYS[3], at, tonumber(ARGV[8]))
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[1], 'transactionId', ARGV[3], 'position', ARGV[4],
    'rowCount', countOf(KEYS[2]), 'rejectCount', countOf(KEYS[3]))
  redis.call('HDEL', KEYS[1], 'replay')
end
return 1
