-- The moves of which a step is made, on the name that is taken up: rules/desk.py.
--
-- A record is bytes: format, kind, capacity, number of grants, number of waiters, number of joins,
-- last token, until when tombstones are kept, and until when those of strays are, which ended without
-- having been granted ('<BBddddddd', 58 bytes); then each grant as name.packed writes it. A waiter is a
-- list in msgpack. What both call ``about`` (who, metadata) only clients read. Queue and patience are
-- sorted by order of joining and by end, so a step costs the same however long the queue is.

local ABOUT, INBOX, WEIGHT, TTL, SEEN, JOINED = 1, 2, 3, 4, 5, 6
local ID, TOKEN, ENDS, GRANTED, SLOTS, BROKEN = 4, 5, 6, 7, 8, 9
local name = {} -- the name that is taken up, as fields, and the moves on it

-- Take up the name whose keys begin at KEYS[first]; false if a newer holdfast wrote it.
function name.take_up(first, stored)
    name.record, name.ended, name.queue = KEYS[first], KEYS[first + 1], KEYS[first + 2]
    name.patience, name.waiters = KEYS[first + 3], KEYS[first + 4]
    name.changed, name.notices, name.open = false, {}, {}
    name.kind, name.capacity, name.last_token = 1, 1, 0
    name.buried_until, name.strays_until = 0, 0
    name.waiting, name.joins, name.grants = 0, 0, {}
    if not stored then
        return true
    end
    local form, _, count, at = string.byte(stored)
    if form == 2 then
        _, name.kind, name.capacity, count, name.waiting, name.joins, name.last_token,
            name.buried_until, name.strays_until, at = struct.unpack('<BBddddddd', stored)
    elseif form == 1 then -- the last version's: it did not tell strays apart, so all may be
        _, name.kind, name.capacity, count, name.waiting, name.joins, name.last_token,
            name.buried_until, at = struct.unpack('<BBdddddd', stored)
        name.strays_until = name.buried_until
    else
        return false
    end
    for i = 1, count do
        name.grants[i], at = name.unpacked(stored, at)
    end
    return true
end

-- A grant as bytes, those that a release asks for first.
function name.packed(grant)
    return struct.pack(
        '<dddI2c0dI2c0I4c0I4c0I4c0', grant[TOKEN], grant[ENDS], grant[GRANTED], #grant[ID],
        grant[ID], grant[WEIGHT], #grant[INBOX], grant[INBOX], #grant[ABOUT], grant[ABOUT],
        #grant[SLOTS], grant[SLOTS], #grant[BROKEN], grant[BROKEN]
    )
end

function name.unpacked(stored, at)
    local token, ends, since, id, weight, inbox, about, slots, broken, after =
        struct.unpack('<dddI2c0dI2c0I4c0I4c0I4c0', stored, at)
    return {about, inbox, weight, id, token, ends, since, slots, broken}, after
end

-- Write what changed, then tell those whom it concerns: notices leave after the write.
function name.put_down()
    if name.changed then
        local ends, grants = now, name.grants
        for i = 1, #grants do
            ends = math.max(ends, grants[i][ENDS])
        end
        local record = {struct.pack(
            '<BBddddddd', 2, name.kind, name.capacity, #grants, name.waiting, name.joins,
            name.last_token, name.buried_until, name.strays_until
        )}
        for i = 1, #grants do
            record[i + 1] = name.packed(grants[i])
        end
        local lives = math.ceil((ends - now) / 1000) + 86400000
        call('SET', name.record, table.concat(record), 'PX', lives)
    end
    for _, notice in ipairs(name.notices) do
        redis.pcall('PUBLISH', notice[1], notice[2])
    end
end

-- Write the record also if nothing has changed. Whoever asks again for a grant, because the answer was
-- lost, may have to hear from replicas that they have it (WAIT), and they speak only of what this
-- connection wrote. A full server allows it after a first write that frees memory.
function name.confirm()
    call('HDEL', name.waiters, '')
    name.changed = true
end

-- Remember for a minute how an id ended: one text, oldest first, cut back to some 64 at times.
function name.bury(id, how, is_stray)
    name.changed = true
    if is_stray then
        name.strays_until = now + 60000000
    end
    local entry = id .. ' ' .. how .. math.floor(now / 1000) + 60000 .. ';'
    local size = call('APPEND', name.ended, entry)
    if size == #entry then
        name.buried_until = 0 -- a new key, or one that was evicted: it needs its expiry
    elseif size > 4096 then
        local ended = call('GET', name.ended)
        local cut = string.find(ended, ';', #ended - 2048, true)
        call('SET', name.ended, string.sub(ended, cut + 1))
        name.buried_until = 0
    end
    if name.buried_until < now + 60000000 then
        name.buried_until = now + 120000000
        call('PEXPIRE', name.ended, 120000)
    end
end

-- Say how an id ended, or nil; a record in which nothing was buried lately need not be asked.
function name.fate(id)
    local ended = name.buried_until > now and call('GET', name.ended) or ''
    local _, at = string.find(ended, id .. ' ', 1, true)
    while at do -- an id may have ended twice: then the first time is long ago
        local how, till = string.match(ended, '^(%a)(%d+);', at + 1)
        if how and till * 1000 > now then
            return how
        end
        _, at = string.find(ended, id .. ' ', at + 1, true)
    end
end

function name.grant_of(id)
    for place, grant in ipairs(name.grants) do
        if grant[ID] == id then
            return grant, place
        end
    end
end

function name.patience_of(id)
    return name.waiting > 0 and call('ZSCORE', name.patience, id)
end

function name.waiter_of(id)
    local stored = call('HGET', name.waiters, id)
    return stored and cmsgpack.unpack(stored)
end

function name.leave_queue(id)
    call('ZREM', name.queue, id)
    call('ZREM', name.patience, id)
    call('HDEL', name.waiters, id)
    name.waiting = name.waiting - 1
    name.changed = true
end

function name.keep_queue()
    call('PEXPIRE', name.queue, 86400000)
    call('PEXPIRE', name.patience, 86400000)
    call('PEXPIRE', name.waiters, 86400000)
end

-- Whether somebody listens to an inbox. What is not known counts as open: a question mark at its end
-- says that its client was still about to listen.
function name.is_open(inbox)
    if inbox == '' or string.byte(inbox, -1) == 63 then
        return true
    end
    if name.open[inbox] == nil then
        local heard = redis.pcall('PUBSUB', 'NUMSUB', inbox)
        name.open[inbox] = heard.err ~= nil or heard[2] > 0
    end
    return name.open[inbox]
end

-- Walk the queue from its head until ``visit`` returns true.
function name.walk(visit)
    local passed = 0
    while name.waiting > 0 do
        local ids = call('ZRANGE', name.queue, passed, passed + 15)
        for _, id in ipairs(ids) do
            local before = name.waiting
            if visit(id, name.waiter_of(id)) then
                return
            end
            passed = passed + 1 - (before - name.waiting)
        end
        if #ids < 16 then
            return
        end
    end
end

-- Where a part of the queue was evicted, begin anew: its waiters are told that they are unknown when
-- they next ask, and join again.
function name.heal()
    local whole = call('ZCARD', name.queue) == name.waiting
        and call('ZCARD', name.patience) == name.waiting
        and call('HLEN', name.waiters) == name.waiting
    if not whole then
        call('DEL', name.queue, name.patience, name.waiters)
        name.waiting, name.changed = 0, true
    end
end

-- Drop what has ended: by time, by lost patience.
function name.sweep()
    if name.waiting > 0 then
        name.heal()
    end
    local grants, i = name.grants, 1
    while i <= #grants do
        local grant = grants[i]
        if grant[ENDS] <= now then
            table.remove(grants, i)
            name.bury(grant[ID], grant[BROKEN] ~= '' and 'b' or 'l')
        else
            i = i + 1
        end
    end
    local late = name.waiting > 0 and call('ZRANGEBYSCORE', name.patience, '-inf', now) or {}
    if #late > 1 then
        local order = {}
        for _, id in ipairs(late) do
            order[id] = tonumber(call('ZSCORE', name.queue, id) or 0)
        end
        table.sort(late, function(one, other)
            return order[one] < order[other]
        end)
    end
    for _, id in ipairs(late) do
        name.leave_queue(id)
        name.bury(id, 'l', true)
    end
end

function name.free()
    local left = name.capacity
    for _, grant in ipairs(name.grants) do
        left = left - grant[WEIGHT]
    end
    return left
end

function name.free_slots(weight)
    local used, slots, slot = {}, {}, 0
    for _, grant in ipairs(name.grants) do
        for taken in string.gmatch(grant[SLOTS], '%d+') do
            used[tonumber(taken)] = true
        end
    end
    while #slots < weight and slot < name.capacity do
        if not used[slot] then
            slots[#slots + 1] = slot
        end
        slot = slot + 1
    end
    return table.concat(slots, ',')
end

-- Let ``claim`` (a waiter's fields) hold for ``life``, with a token larger than every earlier one.
function name.grant(id, claim, life)
    name.changed = true
    name.last_token = math.max(name.last_token + 1, now, claim[SEEN] + 1)
    local grant = {
        claim[ABOUT], claim[INBOX], claim[WEIGHT], id, name.last_token, now + life, now,
        name.kind == SEMAPHORE and name.free_slots(claim[WEIGHT]) or '', ''
    }
    table.insert(name.grants, grant)
    name.keep_mark(life)
    return grant
end

-- Let the birth mark outlive a lease that is longer than its own day.
function name.keep_mark(life)
    if birth_key and life > 86400000000 then
        local lives = math.ceil(life / 1000) + 86400000
        call('PEXPIRE', birth_key, math.max(lives, call('PTTL', birth_key)))
    end
end

-- Leave a notice for the grant's client, if it has an inbox.
function name.tell(what, grant, life)
    if grant[INBOX] ~= '' then
        local words = {
            1, what, grant[ID], string.format('%.0f', grant[TOKEN]), life,
            string.format('%.0f', grant[GRANTED]), grant[SLOTS],
            string.match(name.record, '{(.*)}$'), grant[BROKEN]
        }
        local channel = string.match(grant[INBOX], '^(.-)%??$')
        table.insert(name.notices, {channel, table.concat(words, '\31')})
    end
end

-- Grant what fits from the head of the queue on. ``asking`` are the claims that the asker itself
-- named: they count as reachable and get their full life at once, since the reply tells them.
function name.hand_over(asking)
    if name.waiting == 0 or held_back > 0 then
        return
    end
    local left = name.free()
    if left <= 0 then
        return
    end
    name.walk(function(id, waiter)
        local asked = asking[id]
        if not asked and not name.is_open(waiter[INBOX]) then
            return false -- passed over, not dropped
        end
        if waiter[WEIGHT] > left then
            return true -- nobody passes a living waiter
        end
        left = left - waiter[WEIGHT]
        name.leave_queue(id)
        local life = asked and waiter[TTL] or math.min(3000000, waiter[TTL])
        local grant = name.grant(id, waiter, life)
        if not asked then
            name.tell('granted', grant, life)
        end
        return left <= 0
    end)
end

-- Show a grant without its secret.
function name.tenure(grant)
    return {
        grant[ABOUT], grant[TOKEN], grant[WEIGHT], grant[GRANTED], math.max(0, grant[ENDS] - now),
        grant[SLOTS], grant[BROKEN]
    }
end

-- Show the first few who hold.
function name.holders()
    local shown = {}
    for i = 1, math.min(#name.grants, 8) do
        shown[i] = name.tenure(name.grants[i])
    end
    return shown
end

-- When enough of what is held will have ended by itself for ``weight`` to fit; -1: unknown.
function name.retry_in(weight)
    if held_back > 0 then
        return held_back
    end
    local left, grants = name.free(), {}
    for i, grant in ipairs(name.grants) do
        grants[i] = grant
    end
    table.sort(grants, function(one, other)
        return one[ENDS] < other[ENDS]
    end)
    for _, grant in ipairs(grants) do
        left = left + grant[WEIGHT]
        if left >= weight then
            return math.max(0, grant[ENDS] - now)
        end
    end
    return -1
end

-- The claims ahead of which everybody is passed over, each with when asking again may help.
function name.next_ones()
    local found = {}
    name.walk(function(id, waiter)
        found[id] = name.retry_in(waiter[WEIGHT])
        return name.is_open(waiter[INBOX])
    end)
    return found
end

-- Say where a claim stands.
function name.standing(id)
    local grant = name.grant_of(id)
    if grant then
        local words = struct.pack('<Bdddd', 1, mark, grant[TOKEN], grant[ENDS] - now, grant[GRANTED])
        return words .. grant[SLOTS]
    end
    if name.patience_of(id) then
        return {mark, 'waiting', name.next_ones()[id] or -1, name.holders()}
    end
    return {mark, 'ended', name.fate(id) or 'u', name.holders()}
end
