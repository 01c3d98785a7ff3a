-- Give the votes for names, or say who has them: one after another, for claims that want the same.
-- Counterpart: _claim in rules/voter.py.
-- ARGV from 2 on: ttl, patience, kind, the asker's inbox, and who it is with its metadata. Then for each
-- name: id, largest token seen. The reply to one claim is its own, the reply to several the list of theirs.

local last = #KEYS - 2
local replies = last > 1 and {}
if not settled then
    for at = 1, replies and last or 0, 2 do
        replies[#replies + 1] = {'unsettled'}
    end
    return replies or {'unsettled'}
end
local ttl, patience, kind = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local inbox, about = ARGV[5], ARGV[6]

-- As long as nobody has the votes and nobody waits for them, the short way: most claims.
local short = clock[1] - (myself[4] or 0) < 3600
local first, word = 1, 7
while short and first <= last do
    local id, stored, before = ARGV[word], call('GET', KEYS[first]), highest
    if stored then
        local slip = cmsgpack.unpack(stored)
        before = slip[LAST] < 0 and highest or slip[LAST]
        short = slip[1] == 1 and slip[ID] == '' and #slip[WATCHERS] == 0
    end
    if short then
        local ended = call('GET', KEYS[first + 1])
        short = not (ended and string.find(ended, ';' .. id .. ' ', 1, true))
    end
    if short then
        local token = math.max(before, floor, tonumber(ARGV[word + 1])) + 1
        if token > highest then
            highest = token -- written before the vote is: no later name may fall behind it
            call('HSET', own, 'highest', string.format(whole, token))
        end
        call('SET', KEYS[first], cmsgpack.pack({
            1, token, kind, id, token, now + ttl, now, inbox, about, '', {}
        }), 'PX', math.ceil(ttl / 1000) + 86400000)
        local reply = {'granted', token, ttl, now}
        if not replies then
            return reply
        end
        replies[#replies + 1] = reply
        first, word = first + 2, word + 2
    end
end
if short then
    return replies
end

--@ moves

-- All but the entries of the asker's own inbox, and since when it waits.
local function others()
    local kept, since = {}, now
    for _, watcher in ipairs(slip[WATCHERS]) do
        if watcher[2] == inbox then
            since = watcher[4]
        else
            kept[#kept + 1] = watcher
        end
    end
    return kept, since
end

local function watch(id)
    local kept, since = others()
    local place = 1
    while kept[place] and kept[place][4] <= since do
        place = place + 1
    end
    table.insert(kept, place, {id, inbox, about, since, now + patience})
    kept[17] = nil
    slip[WATCHERS] = kept
    put_down()
end

local function answer(id, seen)
    local how = fate(id)
    if how then
        return {'ended', how, '', tenures()}
    end
    if slip[ID] == id then
        return standing()
    end
    if slip[ID] ~= '' then
        if slip[KIND] ~= kind then
            local kinds = {'lock', 'rwlock', 'semaphore', 'lead'}
            return {'refused', 'kind', 'it is in use as a ' .. kinds[slip[KIND]] .. ', not as a ' .. kinds[kind]}
        end
        local reply = {'busy', #slip[WATCHERS], tenures()}
        if patience > 0 and inbox ~= '' then
            watch(id)
        end
        return reply
    end
    local token = math.max(slip[LAST] < 0 and highest or slip[LAST], floor, seen) + 1
    know(token)
    slip[LAST], slip[KIND], slip[ID], slip[TOKEN], slip[ENDS] = token, kind, id, token, now + ttl
    slip[SINCE], slip[INBOX], slip[ABOUT], slip[BROKEN] = now, inbox, about, ''
    slip[WATCHERS] = others()
    put_down()
    return {'granted', token, ttl, now}
end

-- The first for which the short way was too short, and all after it.
while first <= last do
    local reply = {'format'}
    if take_up(first) then
        sweep()
        reply = answer(ARGV[word], tonumber(ARGV[word + 1]))
    end
    if not replies then
        return reply
    end
    replies[#replies + 1] = reply
    first, word = first + 2, word + 2
end
return replies
