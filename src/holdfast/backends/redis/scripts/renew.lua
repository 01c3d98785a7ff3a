-- Keep claims alive, on any number of names: leases (with their token) and waiters (token 0).
-- ARGV from 2 on: for each name the number of its items, then id, token, ttl, patience of each.
-- The reply has, for each name, who holds it and one answer per item: 0 says "still waiting".
-- Counterpart: _keep_alive and _renewed in rules/claim.py.

call('HDEL', KEYS[5], '') -- a first write that a full server allows: so it allows the next ones

--@ moves

-- Renewal never shortens; that it never revives is the sweep's doing.
local function prolong(grant, token, ttl)
    local good = grant[BROKEN] == '' and (token == 0 or token == grant[TOKEN])
    if good then
        name.changed = true -- also if it does not move: see name.confirm
    end
    if good and now + ttl > grant[ENDS] then
        grant[ENDS] = now + ttl
        name.keep_mark(ttl)
    end
end

-- Let all waiters among the items live on; this never shortens. Give those that do wait.
local function be_patient(first, count)
    local ids, waits, words = {}, {}, {}
    for i = 1, count do
        ids[i] = ARGV[first + 4 * (i - 1)]
    end
    local scores = call('ZMSCORE', name.patience, unpack(ids))
    for i = 1, count do
        if scores[i] then
            waits[ids[i]] = math.max(waits[ids[i]] or scores[i], now + ARGV[first + 4 * i - 1])
            words[#words + 1] = waits[ids[i]]
            words[#words + 1] = ids[i]
        end
    end
    if #words > 0 then
        call('ZADD', name.patience, unpack(words))
        name.keep_queue()
    end
    return waits
end

local function answer(id, token, grant, waits, nexts)
    if grant and grant[BROKEN] ~= '' then
        return {'ended', 'b', grant[BROKEN]}
    end
    if grant and token ~= 0 and token ~= grant[TOKEN] then
        return {'ended', 'u', ''}
    end
    if grant then
        return {'granted', grant[TOKEN], grant[ENDS] - now, grant[GRANTED], grant[SLOTS]}
    end
    if waits[id] then
        local retry = nexts[id] or -1
        return retry < 0 and 0 or {'waiting', retry}
    end
    return {'ended', name.fate(id) or 'u', ''}
end

-- Renew the items of one name, from ARGV[first] on.
local function renew(first, count)
    local last, asking, granted_to = first + 4 * (count - 1), {}, {}
    for i = first, last, 4 do
        asking[ARGV[i]] = true
    end
    name.sweep()
    name.hand_over(asking)
    for _, grant in ipairs(name.grants) do
        granted_to[grant[ID]] = grant
    end
    for i = first, last, 4 do
        local grant = granted_to[ARGV[i]]
        if grant then
            prolong(grant, tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]))
        end
    end
    local waits = name.waiting > 0 and be_patient(first, count) or {}
    local nexts = next(waits) and name.next_ones() or {}
    local answers, all_granted = {}, true
    for i = first, last, 4 do
        local one = answer(ARGV[i], tonumber(ARGV[i + 1]), granted_to[ARGV[i]], waits, nexts)
        all_granted = all_granted and one ~= 0 and one[1] == 'granted'
        answers[#answers + 1] = one
    end
    return {all_granted and {} or name.holders(), answers}
end

local replies, word = {mark}, 2
for first = 1, #KEYS - 4, 5 do
    local count, stored = tonumber(ARGV[word]), call('GET', KEYS[first])
    if name.take_up(first, stored) then
        replies[#replies + 1] = renew(word + 1, count)
        name.put_down()
    else
        replies[#replies + 1] = 'format'
    end
    word = word + 1 + 4 * count
end
return replies
