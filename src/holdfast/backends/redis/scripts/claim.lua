-- Hold names, join their queues, or be told who has them: one after another, for claims that want the
-- same. Counterpart: _claim in rules/claim.py.
-- ARGV from 2 on: what is wanted (kind, capacity, weight, ttl, patience), the asker's inbox, and who it is
-- with its metadata: a text that only clients read. Then for each name: id, largest token seen.
-- The reply to one claim is its own, the reply to several the list of theirs.

local inbox, about = ARGV[3], ARGV[4]
local kind, capacity, weight, ttl, patience = struct.unpack('<Bdddd', ARGV[2])
local last = #KEYS - 4
local replies = last > 5 and {}

-- It is no semaphore and lives no longer than a day: as long as such names are free, the short way.
local plain = kind ~= SEMAPHORE and held_back == 0 and weight <= capacity and ttl <= 86400000000
local first, word = 1, 5
while plain and first <= last do
    local id, seen = ARGV[word], tonumber(ARGV[word + 1])
    local stored = call('GET', KEYS[first])
    local holders, waiting, joins, last_token, buried_until, strays_until = 0, 0, 0, 0, 0, 0
    if stored and string.byte(stored) == 2 then
        holders, waiting, joins, last_token, buried_until, strays_until =
            struct.unpack('<dddddd', stored, 11)
    elseif stored then
        holders = -1 -- another holdfast wrote it: the long way reads the last, and refuses a newer one
    end
    -- Who has seen the last token is no late copy of a claim that was granted here: that would have
    -- been asked before, by somebody who had not. Only strays, never granted, can be as late as this.
    local late = buried_until > now and (seen < last_token or strays_until > now)
    -- Nobody holds it and nobody waits: most claims.
    plain = holders == 0 and waiting == 0
        and not (late and string.find(call('GET', KEYS[first + 1]) or '', id, 1, true))
    if plain then
        local token = math.max(last_token + 1, now, seen + 1)
        call('SET', KEYS[first], struct.pack(
            '<BBddddddddddI2c0dI2c0I4c0I4c0I4c0', 2, kind, capacity, 1, 0, joins, token,
            buried_until, strays_until, token, now + ttl, now, #id, id, weight, #inbox, inbox,
            #about, about, 0, '', 0, ''
        ), 'PX', math.ceil(ttl / 1000) + 86400000)
        local reply = struct.pack('<Bdddd', 1, mark, token, ttl, now)
        if not replies then
            return reply
        end
        replies[#replies + 1] = reply
        first, word = first + 5, word + 2
    end
end
if plain then
    return replies
end

--@ moves
--@ room

local id, seen, claim

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
    local granted = name.grant_of(id)
    if granted then
        name.confirm()
    end
    if until_now or granted or name.fate(id) then
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

-- The first for which the short way was too short, and all after it.
while first <= last do
    id, seen = ARGV[word], tonumber(ARGV[word + 1])
    claim = {about, inbox, weight, ttl, seen, now}
    local reply = {mark, 'format'}
    if name.take_up(first, call('GET', KEYS[first])) then
        name.sweep()
        name.hand_over({[id] = true})
        reply = answer()
        name.put_down()
    end
    if not replies then
        return reply
    end
    replies[#replies + 1] = reply
    first, word = first + 5, word + 2
end
return replies
