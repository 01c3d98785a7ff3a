--@ one key
-- Undo a take that was not used, if it is the last. Counterpart: _give_back in rules/bucket.py.

local id = ARGV[2]

--@ recent
--@ bucket

local before = outcome(takes, id)
if not before then
    return {mark, 'gave back', 'unknown'}
end
local entry = id .. ' ' .. before .. ';'
local rest = #takes - #entry
if string.sub(takes, rest + 1) ~= entry or (rest > 0 and string.byte(takes, rest) ~= 59) then
    return {mark, 'gave back', 'kept'}
end
owed = owed - tonumber(string.match(before, '%d+$')) * bucket[PERIOD]
takes = string.sub(takes, 1, rest)
if owed > 0 then
    call('PEXPIRE', KEYS[1], 60000) -- first what a full server allows, so it allows the rest
    store(bucket[AMOUNT], bucket[PERIOD], bucket[BURST])
else
    call('PEXPIRE', KEYS[1], 0) -- which deletes it
end
return {mark, 'gave back', 'undone'}
