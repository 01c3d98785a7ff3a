--@ a key each
-- Take permits, or reserve the next ones, one take after another. Counterpart: rules/bucket.py.
-- ARGV from 2 on, for each key: the id of the take, and what it wants, packed: permits, amount, period,
-- burst, wait, whether to adopt; then, as text, how such a take ends among those that are remembered.
-- The reply to one take is its own, the reply to several the list of theirs. What went as it should is
-- bytes: took (3, mark, ready in, remaining) and short (4, and the same).

local replies, last = {}, (#ARGV - 1) / 2
local also = {} -- who wants the same bucket next: each is read once and written once
if last > 1 then
    local latest = {}
    for place = 1, last do
        local key = KEYS[place]
        also[latest[key] or 0] = place
        latest[key] = place
    end
end

local MOST = 4503599627370496
local terms, on_time = '%.0f permits per %g s and a burst of %.0f', nil
local wanted, permits, amount, period, burst, wait, adopt, ending, room, refusal
for first = 1, last do
    local key, place, added, changed = KEYS[first], not replies[first] and first, '', false
    if place then
--@ bucket
        while place do
            local id, want = ARGV[place * 2], ARGV[place * 2 + 1]
            if want ~= wanted then -- most want the same
                wanted, ending, refusal = want, string.sub(want, 42), nil
                permits, amount, period, burst, wait, adopt = struct.unpack('<dddddB', want)
                room = burst * period
                if math.min(amount, period, burst) < 1 or math.max(room, amount) > MOST then
                    local asked = string.format(terms, amount, period / 1000000, burst)
                    refusal = {mark, 'refused', 'terms', asked .. ': too little or too much to count'}
                elseif permits < 1 or permits > burst then
                    local why = string.format('%.0f of %.0f can never be had at once', permits, burst)
                    refusal = {mark, 'refused', 'permits', why}
                end
            end
            local reply = unread or refusal
            local other = amount ~= amount_now or period ~= period_now or burst ~= burst_now
            if not reply and other and owed > 0 and adopt == 0 then
                local used = string.format(terms, amount_now, period_now / 1000000, burst_now)
                reply = {mark, 'refused', 'terms', 'it is in use with ' .. used}
            end
            if not reply then
                if owed == 0 then
                    changed = true
                    owed = not stored and held_back > 0 and room or 0 -- what is not known counts as spent
                elseif other then
                    changed = true
                    owed = math.min(math.ceil(owed / period_now) * period, MOST)
                elseif at and at > now then
                    changed = true -- a clock that was set back is followed
                end
                amount_now, period_now, burst_now = amount, period, burst

                local what, after, ready_in, before = 3, owed + permits * period, 0, nil
                if string.find(takes, id, from, true) or string.find(added, id, 1, true) then
--@ recent
                    takes, from, added = string.sub(takes, from) .. added, 1, ''
                    before = outcome(takes, id)
                end
                if before then -- asked again: nobody waits longer than the last in line
                    local ready_at = tonumber(string.match(before, '^%d+'))
                    ready_in = math.min(ready_at - now, math.ceil(math.max(0, owed - room) / amount))
                    ready_in = math.max(0, ready_in)
                else
                    if after > room then
                        ready_in = math.ceil((after - room) / amount)
                    end
                    if ready_in > wait or after > MOST then
                        what = 4
                    else
                        owed, changed = after, true
                        on_time = on_time or ' ' .. clock[1] .. string.sub('00000' .. clock[2], -6) -- now
                        added = added .. id
                            .. (ready_in > 0 and string.format(' %.0f', now + ready_in) or on_time) .. ending
                        while #takes - from + #added >= 1024 do -- the oldest go
                            if from > #takes then
                                takes, from, added = added, 1, ''
                            end
                            from = string.find(takes, ';', from, true) + 1
                        end
                    end
                end
                local remaining = owed < room and math.floor((room - owed) / period) or 0
                reply = struct.pack('<Bdi8i8', what, mark, ready_in, remaining)
            end
            replies[place] = reply
            place = also[place]
        end
        if changed then -- kept until it is empty; in a quarantine until that is over: it is known now
            local lives = math.max(math.ceil(owed / amount_now), held_back)
            local head = struct.pack('<Bddddd', 1, amount_now, period_now, burst_now, owed, now)
            takes = head .. string.sub(takes, from) .. added
            call('SET', key, takes, 'PX', math.ceil(lives / 1000) + 1)
        end
    end
end
return last > 1 and replies or replies[1]
