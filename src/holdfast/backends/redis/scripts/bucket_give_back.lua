--@ one key
-- Undo a take that was not used, if it is the last. Counterpart: _give_back in rules/bucket.py.

local key, id = KEYS[1], ARGV[2]

--@ recent
--@ bucket

if unread then
    return unread
end
takes = string.sub(takes, from)
local before = outcome(takes, id)
if not before then
    return {mark, 'gave back', 'unknown'}
end
local entry = id .. ' ' .. before .. ';'
local rest = #takes - #entry
if string.sub(takes, rest + 1) ~= entry or (rest > 0 and string.byte(takes, rest) ~= 59) then
    return {mark, 'gave back', 'kept'}
end
owed = owed - tonumber(string.match(before, '%d+$')) * period_now
if owed <= 0 then
    call('PEXPIRE', key, 0) -- which deletes it
    return {mark, 'gave back', 'undone'}
end
local lives = math.ceil(math.max(math.ceil(owed / amount_now), held_back) / 1000) + 1
call('PEXPIRE', key, lives) -- allowed when full, and then so is the rest
local head = struct.pack('<Bddddd', 1, amount_now, period_now, burst_now, owed, now)
call('SET', key, head .. string.sub(takes, 1, rest), 'PX', lives)
return {mark, 'gave back', 'undone'}
