--[[
  Writes changes to one collection's index and its new position in one atomic step, if the index is where the writer
  expects it.

  The first write blanks the transaction id. If Redis lacks memory, it refuses this write, before any change. A later
  failure leaves an index that counts as unknown, never a wrong one.

  KEYS[1]      position   hash: transactionId, position, replay, and a field for the length of each area
  KEYS[2...]   areas      hashes

  ARGV[1]      field of `position` that guards the write: 'transactionId', or 'replay' during a replay
  ARGV[2]      the value that it must have; '' with 'transactionId': the index must be empty
  ARGV[3]      new transaction id; '' leaves the index unreadable, during its replay
  ARGV[4]      new position, JSON
  ARGV[5...]   three for each area, in the order of the keys: its field in `position`; number of arguments that
               set its entries (two each); number of keys to remove
  then         for each area: the entries to set, the keys to remove

  Output       1 written; 0 the index is elsewhere and was not touched
]]
local CHUNK = 7000 -- even, and below the limit of unpack (8000)
local AREAS = 5

local function countOf(key)
  return tostring(redis.call('HLEN', key))
end

local countFields = {}
for area = 2, #KEYS do countFields[area - 1] = ARGV[AREAS + (area - 2) * 3] end

local function areAll(wantedCounts)
  for area = 2, #KEYS do
    if wantedCounts(area) ~= countOf(KEYS[area]) then return false end
  end
  return true
end

local function isExpectedPosition()
  local position = redis.call('HMGET', KEYS[1], ARGV[1], unpack(countFields))
  local value = position[1] or ''
  if value ~= ARGV[2] then return false end
  if ARGV[1] == 'replay' then return value ~= '' end
  return areAll(function(area) return value == '' and '0' or position[area] end)
end

local function callInChunks(command, key, from, count)
  local last = from + count - 1
  for first = from, last, CHUNK do
    redis.call(command, key, unpack(ARGV, first, math.min(first + CHUNK - 1, last)))
  end
  return from + count
end

if not isExpectedPosition() then return 0 end
redis.call('HSET', KEYS[1], 'transactionId', '')
local at = AREAS + #countFields * 3
for area = 2, #KEYS do
  local counts = AREAS + (area - 2) * 3
  at = callInChunks('HSET', KEYS[area], at, tonumber(ARGV[counts + 1]))
  at = callInChunks('HDEL', KEYS[area], at, tonumber(ARGV[counts + 2]))
end
if ARGV[3] ~= '' then
  local position = { 'transactionId', ARGV[3], 'position', ARGV[4] }
  for area = 2, #KEYS do
    position[#position + 1] = countFields[area - 1]
    position[#position + 1] = countOf(KEYS[area])
  end
  redis.call('HSET', KEYS[1], unpack(position))
  redis.call('HDEL', KEYS[1], 'replay')
end
return 1
