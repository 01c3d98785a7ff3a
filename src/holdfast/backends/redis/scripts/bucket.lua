-- The bucket under `key` as it is now: Bucket in rules/bucket.py. Stored are its format, amount, period,
-- burst, what was owed and when, all packed, and then the text of its takes: it begins at `from`.
-- What cannot be read is answered with `unread`.

local stored, owed, from = redis.pcall('GET', key), 0, 42
local _, amount_now, period_now, burst_now, at
local unread = stored and (stored.err and stored or string.byte(stored) ~= 1 and {mark, 'format'})
if stored and not unread then
    _, amount_now, period_now, burst_now, owed, at = struct.unpack('<Bddddd', stored)
    if now > at then -- inexact where it is far beyond what is owed, and then it does not matter
        owed = owed - (now - at) * amount_now
    end
end
local takes = stored
if owed <= 0 then
    owed, takes, from = 0, '', 1
end
