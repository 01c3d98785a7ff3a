--@ one key
-- Put a value in the place of the version that was seen, or delete it: rules/record.py.

local id, if_version, keep = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local fence, value = tonumber(ARGV[5]), ARGV[6] == '1' and ARGV[7]

--@ recent
--@ record

if value and #value > 1048576 then
    return {mark, 'refused', 'value', #value .. ' bytes are more than the 1048576 of a value'}
end
if keep and not (keep > 0 and keep <= 3153600000000000) then
    local why = 'a value lives for more than nothing and at most a hundred years'
    return {mark, 'refused', 'keep', why}
end

local done = outcome(kept[SWAPS], id)
if done then
    -- Asked again, because the answer was lost: replicas speak only of what is written now (WAIT).
    call('HDEL', KEYS[1], '') -- a full server allows it, so it allows the next
    call('HSET', KEYS[1], 'kept', stored)
    return {mark, 'swapped', tonumber(done), now}
end
local certain = kept[SWAPS] ~= '' and if_version >= kept[DROPPED] and 1 or 0
if fence > 0 and fence < kept[FENCE] then
    return {mark, 'moved', 'fence', certain, entry()}
end
if if_version ~= version then
    return {mark, 'moved', 'version', certain, entry()}
end

version = math.max(kept[VERSION] + 1, now)
local swaps, forgotten = remember(kept[SWAPS], id, string.format('%.0f', version), 2048)
local ends = keep and now + keep or not value and now
local after = cmsgpack.pack({
    1, version, value and true, ends, math.max(kept[FENCE], fence), swaps,
    forgotten and tonumber(forgotten) or kept[DROPPED]
})
if value then
    call('HSET', KEYS[1], 'kept', after, 'value', value)
else
    call('HDEL', KEYS[1], 'value') -- first what a full server allows, so it allows the rest
    call('HSET', KEYS[1], 'kept', after)
end
if ends then
    call('PEXPIRE', KEYS[1], math.ceil((ends - now) / 1000) + 60000)
elseif stored then
    call('PERSIST', KEYS[1])
end
return {mark, 'swapped', version, now}
