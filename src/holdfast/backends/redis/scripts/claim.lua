-- Hold a name, join its queue, or be told who has it. Counterpart: _claim in rules/claim.py.

local id, kind, capacity, weight = ARGV[2], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local ttl, detached = tonumber(ARGV[7]), tonumber(ARGV[12])
local stored = call('GET', KEYS[1])
local record = stored and cmsgpack.unpack(stored)

-- Nobody holds it, nobody waits, it is no semaphore and lives no longer than a day: most claims.
if held_back == 0 and kind ~= 'semaphore' and weight <= capacity and ttl <= 86400000000
    and (not stored or (record[1] == 1 and record[6] == 0 and #record[8] == 0))
    and not (stored and record[5] > now and string.find(call('GET', KEYS[2]) or '', id, 1, true))
then
    local token = math.max(stored and record[4] + 1 or 0, now, ARGV[3] + 1)
    local kept, joins, slots = 0, 0, {}
    if stored then
        kept, joins = record[5], record[7]
    end
    local after = cmsgpack.pack({1, kind, capacity, token, kept, 0, joins, {{
        ARGV[9], ARGV[10], weight, ttl, ARGV[11], detached, id, token, now + ttl, now, slots, ''
    }}})
    call('SET', KEYS[1], after, 'PX', math.ceil(ttl / 1000) + 86400000)
    return {mark, 'granted', token, ttl, now, slots}
end

--@ moves

local patience = tonumber(ARGV[8])
local claim = {ARGV[9], ARGV[10], weight, ttl, ARGV[11], detached, tonumber(ARGV[3]), now}

-- Why the claim can never be right here, if so.
local function refusal()
    if claim[WEIGHT] > capacity then
        return 'weight', claim[WEIGHT] .. ' of ' .. capacity .. ' can never be had'
    end
    if #name.grants == 0 and name.waiting == 0 then
        return nil -- kind and capacity bind only while the name is in use
    end
    if name.kind ~= kind then
        return 'kind', 'it is in use as a ' .. name.kind .. ', not as a ' .. kind
    end
    if name.capacity ~= capacity then
        return 'capacity', 'it is in use with ' .. name.capacity .. ' permits, not ' .. capacity
    end
end

-- Whether a newcomer may hold at once: it fits, and no living waiter is passed.
local function has_room()
    if held_back > 0 or name.free() < claim[WEIGHT] then
        return false
    end
    local alone = true
    name.walk(function(_, waiter)
        alone = not name.is_open(waiter[INBOX])
        return not alone
    end)
    return alone
end

local function enqueue()
    local keys = {name.queue, name.patience, name.waiters}
    if name.waiting == 0 and call('EXISTS', unpack(keys)) > 0 then
        call('DEL', unpack(keys)) -- left over from a record that was evicted
    end
    name.changed = true
    name.joins = name.joins + 1
    name.waiting = name.waiting + 1
    call('ZADD', name.queue, name.joins, id)
    call('ZADD', name.patience, now + patience, id)
    call('HSET', name.waiters, id, cmsgpack.pack(claim))
    name.keep_queue()
end

-- Asked again: it keeps the place it has, and its patience and what it has seen only grow.
local function be_patient(until_now)
    call('ZADD', name.patience, math.max(until_now, now + patience), id)
    local waiter = name.waiter_of(id)
    if waiter and claim[SEEN] > waiter[SEEN] then
        waiter[SEEN] = claim[SEEN]
        call('HSET', name.waiters, id, cmsgpack.pack(waiter))
    end
    name.keep_queue()
end

local function answer()
    local until_now = name.patience_of(id)
    if until_now then
        be_patient(until_now)
    end
    if until_now or name.grant_of(id) or name.fate(id) then
        return name.standing(id)
    end
    local why, detail = refusal()
    if why then
        return {mark, 'refused', why, detail}
    end
    if #name.grants == 0 and name.waiting == 0 then
        name.kind, name.capacity = kind, capacity
    end
    if has_room() then
        name.grant(id, claim, claim[TTL])
        return name.standing(id)
    end
    if patience <= 0 and held_back > 0 then
        return {mark, 'quarantined', held_back}
    end
    if patience <= 0 then
        return {mark, 'busy', name.waiting, name.holders()}
    end
    if name.waiting >= 10000 then
        return {mark, 'refused', 'queue_full', '10000 claims are waiting for it already'}
    end
    enqueue()
    return name.standing(id)
end

if not name.take_up(1, record) then
    return {mark, 'format'}
end
name.sweep()
name.hand_over({[id] = true})
local reply = answer()
name.put_down()
return reply
