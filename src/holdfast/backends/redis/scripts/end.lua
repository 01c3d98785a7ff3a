-- Give a lease back ('r'), or end a claim whatever became of it ('w'): _end in rules/claim.py.

call('HDEL', KEYS[5], '') -- a first write that a full server allows: so it allows the next ones

local id, how = ARGV[2], ARGV[3]
local stored = call('GET', KEYS[1])
local _, kind, capacity, holders, waiting, joins, last_token, buried_until
if stored and string.byte(stored) == 1 then
    _, kind, capacity, holders, waiting, joins, last_token, buried_until =
        struct.unpack('<BBdddddd', stored)
end

-- It alone holds the name: most releases.
local ends, held_by, heir, claim
if holders == 1 and kind ~= SEMAPHORE then
    _, ends, _, held_by = struct.unpack('<dddI2c0', stored, 51)
end
local short = held_by == id and ends > now and buried_until >= now + 60000000

-- The head of the queue is its heir, if nobody in line has lost patience, the head is known to
-- listen, and it takes all there is. A part of the queue that was evicted is the long way's affair.
if short and waiting > 0 then
    local least = call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')
    heir = held_back == 0 and least[2] and tonumber(least[2]) > now
        and call('ZRANGE', KEYS[3], 0, 0)[1]
    local found = heir and call('HGET', KEYS[5], heir)
    claim = found and cmsgpack.unpack(found) -- about, inbox, weight, ttl, seen, joined
    local inbox = claim and claim[3] == capacity and claim[2] or ''
    local heard = string.byte(inbox, -1) ~= 63 and inbox ~= ''
        and redis.pcall('PUBSUB', 'NUMSUB', inbox)
    short = heard and not heard.err and heard[2] > 0
end

if short then
    local entry = id .. ' ' .. how .. math.floor(now / 1000) + 60000 .. ';'
    local size = call('APPEND', KEYS[2], entry)
    if size > 4096 or size == #entry then
        buried_until = now + 60000000 -- so the next one takes the long way: it cuts back, and keeps
        call('PEXPIRE', KEYS[2], 120000) -- somebody may have evicted the key
    end
    if not heir then
        local after = struct.pack(
            '<BBdddddd', 1, kind, capacity, 0, 0, joins, last_token, buried_until
        )
        call('SET', KEYS[1], after, 'PX', 86400000)
        return struct.pack('<Bdc1', 2, mark, how)
    end
    call('ZREM', KEYS[3], heir)
    call('ZREM', KEYS[4], heir)
    call('HDEL', KEYS[5], heir)
    local about, inbox, token = claim[1], claim[2], math.max(last_token + 1, now, claim[5] + 1)
    local life = math.min(3000000, claim[4])
    call('SET', KEYS[1], struct.pack(
        '<BBdddddddddI2c0dI2c0I4c0I4c0I4c0', 1, kind, capacity, 1, waiting - 1, joins, token,
        buried_until, token, now + life, now, #heir, heir, capacity, #inbox, inbox, #about, about,
        0, '', 0, ''
    ), 'PX', math.ceil(life / 1000) + 86400000)
    redis.pcall('PUBLISH', inbox, table.concat({
        1, 'granted', heir, string.format('%.0f', token), life, string.format('%.0f', now), '',
        string.match(KEYS[1], '{(.*)}$'), ''
    }, '\31'))
    return {mark, 'ended', how, {{about, token, capacity, now, life, '', ''}}}
end

--@ moves

if not name.take_up(1, stored) then
    return {mark, 'format'}
end
name.sweep()
local grant, place = name.grant_of(id)
if grant then
    table.remove(name.grants, place)
elseif name.patience_of(id) then
    name.leave_queue(id)
    how = 'w'
elseif how == 'r' or name.fate(id) then
    how = nil
end
-- An unknown claim that is withdrawn may still be under way: buried, it comes too late.
if how then
    name.bury(id, how)
end
name.hand_over({})
name.put_down()
return {mark, 'ended', how or name.fate(id) or 'u', name.holders()}
