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
if owed <= 0 then
    call('PEXPIRE', KEYS[1], 0) -- which deletes it
    return {mark, 'gave back', 'undone'}
end
local lives = math.max(math.ceil(owed / bucket[AMOUNT]), held_back)
call('PEXPIRE', KEYS[1], math.ceil(lives / 1000) + 1) -- allowed when full, and then so is the rest
bucket[OWED], bucket[AT], bucket[TAKES] = owed, now, string.sub(takes, 1, rest)
call('SET', KEYS[1], cmsgpack.pack(bucket), 'PX', math.ceil(lives / 1000) + 1)
return {mark, 'gave back', 'undone'}
