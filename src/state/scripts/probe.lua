--[[
  Tries the commands that Rollcall needs, on a temporary key.

  KEYS[1]  a key that nothing else uses

  Output   1; or the error Redis gives (OOM, NOPERM, READONLY, …)
]]
redis.call('HSET', KEYS[1], 'probe', '1')
redis.call('PEXPIRE', KEYS[1], 1000)
redis.call('HMGET', KEYS[1], 'probe')
redis.call('HLEN', KEYS[1])
redis.call('HDEL', KEYS[1], 'probe')
redis.call('UNLINK', KEYS[1])
return 1
