-- Give a lease back ('r'), or end a claim whatever became of it ('w'): _end in rules/claim.py.

call('HDEL', KEYS[5], '') -- a first write that a full server allows: so it allows the next ones

local id, how = ARGV[2], ARGV[3]
local stored = call('GET', KEYS[1])
local _, kind, capacity, holders, waiting, joins, last_token, buried_until
if stored and string.byte(stored) == 1 then
    _, kind, capacity, holders, waiting, joins, last_token, buried_until =
        struct.unpack('<BBdddddd', stored)
end

-- It alone holds the name, and nobody waits: most releases.
local ends, held_by
if holders == 1 and waiting == 0 then
    _, ends, _, held_by = struct.unpack('<dddI2c0', stored, 51)
end
if held_by == id and ends > now and buried_until >= now + 60000000 then
    local entry = id .. ' ' .. how .. math.floor(now / 1000) + 60000 .. ';'
    local size = call('APPEND', KEYS[2], entry)
    if size > 4096 or size == #entry then
        buried_until = now + 60000000 -- so the next one takes the long way: it cuts back, and keeps
        call('PEXPIRE', KEYS[2], 120000) -- somebody may have evicted the key
    end
    local after = struct.pack(
        '<BBdddddd', 1, kind, capacity, 0, 0, joins, last_token, buried_until
    )
    call('SET', KEYS[1], after, 'PX', 86400000)
    return struct.pack('<Bdc1', 2, mark, how)
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
