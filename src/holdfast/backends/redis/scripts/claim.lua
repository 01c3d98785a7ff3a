-- Hold a name, join its queue, or be told who has it. Counterpart: _claim in rules/claim.py.
-- ARGV from 2 on: id, largest token seen, what is wanted (kind, capacity, weight, ttl, patience), the
-- asker's inbox, and who it is with its metadata: a text that only clients read.

local id, seen, inbox, about = ARGV[2], tonumber(ARGV[3]), ARGV[5], ARGV[6]
local kind, capacity, weight, ttl, patience = struct.unpack('<Bdddd', ARGV[4])
local stored = call('GET', KEYS[1])
local holders, waiting, joins, last_token, buried_until = 0, 0, 0, 0, 0
if stored and string.byte(stored) == 1 then
    holders, waiting, joins, last_token, buried_until = struct.unpack('<ddddd', stored, 11)
elseif stored then
    holders = -1 -- a newer holdfast wrote it: the long way says so
end

-- Nobody holds it, nobody waits, it is no semaphore and lives no longer than a day: most claims.
if holders == 0 and waiting == 0 and kind ~= SEMAPHORE and held_back == 0
    and weight <= capacity and ttl <= 86400000000
    and not (buried_until > now and string.find(call('GET', KEYS[2]) or '', id, 1, true))
then
    local token = math.max(last_token + 1, now, seen + 1)
    call('SET', KEYS[1], struct.pack(
        '<BBdddddddddI2c0dI2c0I4c0I4c0I4c0', 1, kind, capacity, 1, 0, joins, token, buried_until,
        token, now + ttl, now, #id, id, weight, #inbox, inbox, #about, about, 0, '', 0, ''
    ), 'PX', math.ceil(ttl / 1000) + 86400000)
    return struct.pack('<Bdddd', 1, mark, token, ttl, now)
end

--@ moves
--@ room

local claim = {about, inbox, weight, ttl, seen, now}

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
    if waiter and seen > waiter[SEEN] then
        waiter[SEEN] = seen
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
    local why, detail = name.refusal(kind, capacity, weight)
    if why then
        return {mark, 'refused', why, detail}
    end
    if #name.grants == 0 and name.waiting == 0 then
        name.kind, name.capacity = kind, capacity
    end
    if name.has_room(weight) then
        name.grant(id, claim, ttl)
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

if not name.take_up(1, stored) then
    return {mark, 'format'}
end
name.sweep()
name.hand_over({[id] = true})
local reply = answer()
name.put_down()
return reply
