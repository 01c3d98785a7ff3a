-- Give leases back ('r'), or end claims whatever became of them ('w'), one after another: _end in
-- rules/claim.py. ARGV from 2 on: which of the two, then the id of each name's claim.
-- The reply to one is its own, the reply to several the list of theirs.

local how = ARGV[2]
local stone = ' ' .. how .. math.floor(now / 1000) + 60000 .. ';'
local last = #KEYS - 4
local replies = last > 5 and {}
local first, word, short = 1, 3, true
while short and first <= last do
    local id, stored, reply = ARGV[word], call('GET', KEYS[first]), nil
    local _, kind, capacity, holders, waiting, joins, last_token, buried_until, strays_until
    if stored and string.byte(stored) == 2 then
        _, kind, capacity, holders, waiting, joins, last_token, buried_until, strays_until =
            struct.unpack('<BBddddddd', stored)
    end

    -- It alone holds the name: most releases.
    local ends, held_by, heir, claim
    if holders == 1 and kind ~= SEMAPHORE then
        _, ends, _, held_by = struct.unpack('<dddI2c0', stored, 59)
    end
    short = held_by == id and ends > now

    -- The head of the queue is its heir, if nobody in line has lost patience, the head is known to
    -- listen, and it takes all there is. A part of the queue that was evicted is the long way's affair.
    if short and waiting > 0 then
        local least = call('ZRANGE', KEYS[first + 3], 0, 0, 'WITHSCORES')
        heir = held_back == 0 and least[2] and tonumber(least[2]) > now
            and call('ZRANGE', KEYS[first + 2], 0, 0)[1]
        local found = heir and call('HGET', KEYS[first + 4], heir)
        claim = found and cmsgpack.unpack(found) -- about, inbox, weight, ttl, seen, joined
        local inbox = claim and claim[3] == capacity and claim[2] or ''
        local heard = string.byte(inbox, -1) ~= 63 and inbox ~= ''
            and redis.pcall('PUBSUB', 'NUMSUB', inbox)
        short = heard and not heard.err and heard[2] > 0
    end

    if short then
        local entry, ended = id .. stone, KEYS[first + 1]
        local size = redis.pcall('APPEND', ended, entry)
        if type(size) == 'table' then -- a full server: what frees memory it allows, and then the rest
            call('HDEL', KEYS[5], '')
            size = call('APPEND', ended, entry)
        end
        if size > 4096 then
            local text = call('GET', ended)
            call('SET', ended, string.sub(text, string.find(text, ';', #text - 2048, true) + 1))
        end
        -- Cut back, a new key, or one that was evicted: it needs its expiry. Else once a minute.
        if size > 4096 or size == #entry or buried_until < now + 60000000 then
            buried_until = now + 120000000
            call('PEXPIRE', ended, 120000)
        end
    end
    if short and heir then
        call('ZREM', KEYS[first + 2], heir)
        call('ZREM', KEYS[first + 3], heir)
        call('HDEL', KEYS[first + 4], heir)
        local about, inbox, token = claim[1], claim[2], math.max(last_token + 1, now, claim[5] + 1)
        local life = math.min(3000000, claim[4])
        call('SET', KEYS[first], struct.pack(
            '<BBddddddddddI2c0dI2c0I4c0I4c0I4c0', 2, kind, capacity, 1, waiting - 1, joins, token,
            buried_until, strays_until, token, now + life, now, #heir, heir, capacity, #inbox,
            inbox, #about, about, 0, '', 0, ''
        ), 'PX', math.ceil(life / 1000) + 86400000)
        redis.pcall('PUBLISH', inbox, table.concat({
            1, 'granted', heir, string.format('%.0f', token), life, string.format('%.0f', now), '',
            string.match(KEYS[first], '{(.*)}$'), ''
        }, '\31'))
        reply = {mark, 'ended', how, {{about, token, capacity, now, life, '', ''}}}
    elseif short then
        call('SET', KEYS[first], struct.pack(
            '<BBddddddd', 2, kind, capacity, 0, 0, joins, last_token, buried_until, strays_until
        ), 'PX', 86400000)
        reply = struct.pack('<Bdc1', 2, mark, how)
    end
    if short and not replies then
        return reply
    elseif short then
        replies[#replies + 1] = reply
        first, word = first + 5, word + 1
    end
end
if short then
    return replies
end

call('HDEL', KEYS[5], '') -- a first write that a full server allows: so it allows the next ones

--@ moves

local function end_it(id)
    name.sweep()
    local ending, grant, place = how, name.grant_of(id)
    if grant then
        table.remove(name.grants, place)
    elseif name.patience_of(id) then
        name.leave_queue(id)
        ending = 'w'
    elseif how == 'r' or name.fate(id) then
        ending = nil
    end
    -- An unknown claim that is withdrawn may still be under way: buried, it comes too late.
    if ending then
        name.bury(id, ending, not grant)
    end
    name.hand_over({})
    name.put_down()
    return {mark, 'ended', ending or name.fate(id) or 'u', name.holders()}
end

-- The first for which the short way was too short, and all after it.
while first <= last do
    local reply = {mark, 'format'}
    if name.take_up(first, call('GET', KEYS[first])) then
        reply = end_it(ARGV[word])
    end
    if not replies then
        return reply
    end
    replies[#replies + 1] = reply
    first, word = first + 5, word + 1
end
return replies
