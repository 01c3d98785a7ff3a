-- Give a lease back ('r'), or end a claim whatever became of it ('w'): _end in rules/claim.py.

call('HDEL', KEYS[5], '') -- a first write that a full server allows: so it allows the next ones

local id, how = ARGV[2], ARGV[3]
local stored = call('GET', KEYS[1])
local record = stored and cmsgpack.unpack(stored)

-- It alone holds the name, and nobody waits: most releases.
local grant = record and record[1] == 1 and record[6] == 0 and #record[8] == 1 and record[8][1]
if grant and grant[7] == id and grant[9] > now and record[5] >= now + 60000000 then
    local entry = id .. ' ' .. how .. math.floor(now / 1000) + 60000 .. ';'
    local size = call('APPEND', KEYS[2], entry)
    if size > 4096 or size == #entry then
        record[5] = now + 60000000 -- so the next one takes the long way: it cuts back, and keeps
        call('PEXPIRE', KEYS[2], 120000) -- somebody may have evicted the key
    end
    record[8] = {}
    call('SET', KEYS[1], cmsgpack.pack(record), 'PX', 86400000)
    return {mark, 'ended', how, record[8]}
end

--@ moves

if not name.take_up(1, record) then
    return {mark, 'format'}
end
name.sweep()
local place
grant, place = name.grant_of(id)
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
