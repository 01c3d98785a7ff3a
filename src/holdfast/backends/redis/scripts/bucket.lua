-- A bucket as it is now: Bucket in rules/bucket.py, in msgpack, with its format in front.

local AMOUNT, PERIOD, BURST, OWED, AT, TAKES = 2, 3, 4, 5, 6, 7
local stored = call('GET', KEYS[1])
local bucket = stored and cmsgpack.unpack(stored)
if bucket and bucket[1] ~= 1 then
    return {mark, 'format'}
end
local owed, takes = 0, ''
if bucket then
    -- Inexact where it is far beyond what is owed, and then it does not matter.
    owed = math.max(0, bucket[OWED] - math.max(0, now - bucket[AT]) * bucket[AMOUNT])
    takes = owed > 0 and bucket[TAKES] or ''
end
