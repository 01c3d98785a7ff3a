-- The moves of which a step is made. Most calls never get here: to make these functions takes time.

local record, graves, slip, notices

-- Turn to the name whose keys begin there; whether its slip can be read.
local function take_up(first)
    record, graves, notices = KEYS[first], KEYS[first + 1], {}
    local stored = call('GET', record)
    slip = stored and cmsgpack.unpack(stored) or {1, -1, 1, '', 0, 0, 0, '', '', '', {}}
    return slip[1] == 1
end

-- Say how an id ended here, or nil.
local function fate(id)
    local ended = call('GET', graves)
    return ended and string.match(ended, ';' .. string.gsub(id, '%p', '%%%0') .. ' (%a)')
end

-- Remember how an id ended: the newest 64, for a minute after the last of them.
local function bury(id, how)
    local ended = (call('GET', graves) or '') .. ';' .. id .. ' ' .. how
    local _, count = string.gsub(ended, ';', ';')
    if count > 64 then
        ended = string.sub(ended, (string.find(ended, ';', 2, true)))
    end
    call('SET', graves, ended, 'PX', 60000)
end

local function tell(inbox, what, id, token, reason)
    notices[#notices + 1] = {inbox, table.concat({
        1, what, id, string.format(whole, token), 0, 0, '', string.match(record, '{(.*)}$'), reason
    }, '\31')}
end

-- Tell the first three who wait that the name is free.
local function free()
    slip[ID] = ''
    for at = 1, math.min(3, #slip[WATCHERS]) do
        local watcher = slip[WATCHERS][at]
        tell(watcher[2], 'freed', watcher[1], 0, '')
    end
end

-- Drop what has ended.
local function sweep()
    if slip[ID] ~= '' and slip[ENDS] <= now then
        bury(slip[ID], 'l')
        slip[ID] = ''
    end
    local kept = {}
    for _, watcher in ipairs(slip[WATCHERS]) do
        if watcher[5] > now then
            kept[#kept + 1] = watcher
        end
    end
    slip[WATCHERS] = kept
end

-- Write the slip, then tell those whom it concerns. An idle one goes after a day.
local function put_down()
    local ends = slip[ID] ~= '' and math.max(0, slip[ENDS] - now) or 0
    call('SET', record, cmsgpack.pack(slip), 'PX', math.ceil(ends / 1000) + 86400000)
    for _, notice in ipairs(notices) do
        redis.pcall('PUBLISH', notice[1], notice[2])
    end
end

-- Never give less than this again. What the voter knows of itself goes two days after its last use.
local function know(token)
    if token > highest then
        highest = token
        call('HSET', own, 'highest', string.format(whole, token))
    end
    if clock[1] - (myself[4] or 0) >= 3600 then
        myself[4] = clock[1]
        call('HSET', own, 'touched', clock[1])
        call('PEXPIRE', own, 172800000)
    end
end

local function tenures()
    if slip[ID] == '' then
        return {}
    end
    local left = math.max(0, slip[ENDS] - now)
    return {{slip[ABOUT], slip[TOKEN], slip[SINCE], left, slip[BROKEN]}}
end

-- Where the claim stands that has the vote.
local function standing()
    if slip[BROKEN] ~= '' then
        return {'ended', 'b', slip[BROKEN], {}}
    end
    return {'granted', slip[TOKEN], slip[ENDS] - now, slip[SINCE]}
end
