-- A record as it stands: Kept in rules/record.py, in msgpack, with its format in front.

local VERSION, VALUE, ENDS, FENCE, SWAPS, DROPPED = 2, 3, 4, 5, 6, 7
local stored = call('GET', KEYS[1])
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
local is_there = kept[VALUE] and not (kept[ENDS] and kept[ENDS] <= now)
local version = is_there and kept[VERSION] or 0
local left = is_there and kept[ENDS] and kept[ENDS] - now or -1
local entry = {is_there and kept[VALUE], version, left, kept[FENCE], now}
