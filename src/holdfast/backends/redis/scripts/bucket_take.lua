--@ one key
-- Take permits, or reserve the next ones. Counterpart: rules/bucket.py.

local id, permits, amount = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local period, burst, wait = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local terms, room = '%.0f permits per %g s and a burst of %.0f', burst * period

--@ recent
--@ bucket

if math.min(amount, period, burst) < 1 or math.max(room, amount) > 4503599627370496 then
    local asked = string.format(terms, amount, period / 1000000, burst)
    return {mark, 'refused', 'terms', asked .. ': too little or too much to count'}
end
if permits < 1 or permits > burst then
    local why = string.format('%.0f of %.0f can never be had at once', permits, burst)
    return {mark, 'refused', 'permits', why}
end

local changed = bucket and bucket[AT] > now -- a clock that was set back is followed
if owed == 0 then
    changed = true
    owed = not bucket and held_back > 0 and room or 0 -- what is not known counts as spent
elseif bucket[AMOUNT] ~= amount or bucket[PERIOD] ~= period or bucket[BURST] ~= burst then
    if ARGV[8] ~= '1' then
        local used = string.format(terms, bucket[AMOUNT], bucket[PERIOD] / 1000000, bucket[BURST])
        return {mark, 'refused', 'terms', 'it is in use with ' .. used}
    end
    changed = true
    owed = math.min(math.ceil(owed / bucket[PERIOD]) * period, 4503599627370496)
end

local before, after, what, ready_in = outcome(takes, id), owed + permits * period, 'took', 0
if before then -- asked again: nobody waits longer than the last in line
    local ready_at = tonumber(string.match(before, '^%d+'))
    ready_in = math.min(ready_at - now, math.ceil(math.max(0, owed - room) / amount))
    ready_in = math.max(0, ready_in)
else
    ready_in = math.ceil(math.max(0, after - room) / amount)
    if ready_in > wait or after > 4503599627370496 then
        what = 'short'
    else
        owed, changed = after, true
        takes = remember(takes, id, string.format('%.0f %.0f', now + ready_in, permits), 1024)
    end
end
if changed then -- kept until it is empty; in a quarantine until that is over: it is known now
    local lives = math.max(math.ceil(owed / amount), held_back)
    local packed = cmsgpack.pack({1, amount, period, burst, owed, now, takes})
    call('SET', KEYS[1], packed, 'PX', math.ceil(lives / 1000) + 1)
end
return {mark, what, ready_in, math.floor(math.max(0, room - owed) / period)}
