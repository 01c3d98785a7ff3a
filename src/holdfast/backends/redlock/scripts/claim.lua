-- Give the vote, or say who has it. ARGV from 2 on: id, largest token seen, ttl, patience, kind, the
-- asker's inbox, and who it is with its metadata. Counterpart: _claim in rules/voter.py.

if not settled then
    return {'unsettled'}
end
local id, seen, ttl, patience = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local kind, inbox, about = tonumber(ARGV[6]), ARGV[7], ARGV[8]

-- Nobody has the vote and nobody waits for it: most claims.
local ended = call('GET', KEYS[3])
if slip[ID] == '' and #slip[WATCHERS] == 0
    and not (ended and string.find(ended, ';' .. id .. ' ', 1, true))
    and clock[1] - (myself[4] or 0) < 3600
then
    local token = math.max(slip[LAST] < 0 and highest or slip[LAST], floor, seen) + 1
    if token > highest then
        call('HSET', KEYS[1], 'highest', string.format(whole, token))
    end
    call('SET', KEYS[2], cmsgpack.pack({
        1, token, kind, id, token, now + ttl, now, inbox, about, '', slip[WATCHERS]
    }), 'PX', math.ceil(ttl / 1000) + 86400000)
    return {'granted', token, ttl, now}
end

--@ moves

sweep()
local how = fate(id)
if how then
    return {'ended', how, '', tenures()}
end
if slip[ID] == id then
    return standing()
end

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

if slip[ID] ~= '' then
    if slip[KIND] ~= kind then
        local kinds = {'lock', 'rwlock', 'semaphore', 'lead'}
        return {'refused', 'kind', 'it is in use as a ' .. kinds[slip[KIND]] .. ', not as a ' .. kinds[kind]}
    end
    local reply = {'busy', #slip[WATCHERS], tenures()}
    if patience > 0 and inbox ~= '' then
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
    return reply
end

local known = slip[LAST] < 0 and highest or slip[LAST]
local token = math.max(known, floor, seen) + 1
know(token)
slip[LAST], slip[KIND], slip[ID], slip[TOKEN], slip[ENDS] = token, kind, id, token, now + ttl
slip[SINCE], slip[INBOX], slip[ABOUT], slip[BROKEN] = now, inbox, about, ''
if #slip[WATCHERS] > 0 then
    slip[WATCHERS] = others()
end
put_down()
return {'granted', token, ttl, now}
