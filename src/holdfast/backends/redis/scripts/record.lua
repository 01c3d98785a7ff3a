-- A record as it stands: Kept in rules/record.py. Its key is a hash of two fields: ``kept`` has all
-- but the value, in msgpack, with the format in front; ``value`` is apart and never handled here
-- unless it is asked for. To pack a large one would keep the server for many milliseconds.

local VERSION, THERE, ENDS, FENCE, SWAPS, DROPPED = 2, 3, 4, 5, 6, 7
local stored = call('HGET', KEYS[1], 'kept')
local kept = stored and cmsgpack.unpack(stored) or {1, 0, false, false, 0, '', 0}
if kept[1] ~= 1 then
    return {mark, 'format'}
end
if held_back > 0 and not stored then -- not known is not the same as absent
    return {mark, 'withheld', held_back}
end
if kept[SWAPS] == '' or (kept[ENDS] and now >= kept[ENDS] + 60000000) then
    kept = {1, kept[VERSION], false, false, 0, '', 0} -- blank: only its version counts
end
local is_there = kept[THERE] and not (kept[ENDS] and kept[ENDS] <= now)
local version = is_there and kept[VERSION] or 0

local function entry()
    local left = is_there and kept[ENDS] and kept[ENDS] - now or -1
    return {is_there and call('HGET', KEYS[1], 'value'), version, left, kept[FENCE], now}
end
