--@ one key
-- Take permits, or reserve the next ones. Counterpart: rules/bucket.py.

local id, permits, amount = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local period, burst, wait = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local room = burst * period

local function words(one, two, three)
    local text = '%.0f permits per %g s and a burst of %.0f'
    return string.format(text, one, two / 1000000, three)
end

--@ recent
--@ bucket

if math.min(amount, period, burst) < 1 or math.max(room, amount) > 4503599627370496 then
    local why = words(amount, period, burst) .. ': too little or too much to count'
    return {mark, 'refused', 'terms', why}
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
        local why = 'it is in use with ' .. words(bucket[AMOUNT], bucket[PERIOD], bucket[BURST])
        return {mark, 'refused', 'terms', why}
    end
    changed = true
    owed = math.min(math.ceil(owed / bucket[PERIOD]) * period, 4503599627370496)
end

local function remaining()
    return math.floor(math.max(0, room - owed) / period)
end

local before = outcome(takes, id)
if before then -- asked again: nobody waits longer than the last in line
    local ready_at = tonumber(string.match(before, '^%d+'))
    local ready_in = math.min(ready_at - now, math.ceil(math.max(0, owed - room) / amount))
    if changed then
        store(amount, period, burst)
    end
    return {mark, 'took', math.max(0, ready_in), remaining()}
end
local after = owed + permits * period
local ready_in = math.ceil(math.max(0, after - room) / amount)
if ready_in > wait or after > 4503599627370496 then
    if changed then
        store(amount, period, burst)
    end
    return {mark, 'short', ready_in, remaining()}
end
owed = after
takes = remember(takes, id, string.format('%.0f %.0f', now + ready_in, permits))
store(amount, period, burst)
return {mark, 'took', ready_in, remaining()}
