-- Take the vote back. ARGV from 2 on: id, and how: released, withdrawn, or undone without a word to
-- those who wait. Counterpart: _end in rules/voter.py.

call('HDEL', KEYS[1], '') -- a first write that a full server allows: so it allows the next ones
local id, how = ARGV[2], ARGV[3]

-- It has the vote and nobody waits for it: most releases.
if slip[ID] == id and slip[ENDS] > now and #slip[WATCHERS] == 0 then
    how = how == 'r' and 'r' or 'w'
    local ended = (call('GET', KEYS[3]) or '') .. ';' .. id .. ' ' .. how
    if #ended <= 64 * (#id + 3) then
        call('SET', KEYS[3], ended, 'PX', 60000)
        slip[ID] = ''
        call('SET', KEYS[2], cmsgpack.pack(slip), 'PX', 86400000)
        return {'ended', how, '', {}}
    end
    how = ARGV[3]
end

--@ moves

sweep()
if slip[ID] == id then
    slip[ID] = ''
    if how ~= 'x' then
        free()
    end
    how = how == 'r' and 'r' or 'w'
    bury(id, how)
    put_down()
    return {'ended', how, '', {}}
end
local kept = {}
for _, watcher in ipairs(slip[WATCHERS]) do
    if watcher[1] ~= id then
        kept[#kept + 1] = watcher
    end
end
if #kept < #slip[WATCHERS] then
    slip[WATCHERS] = kept
    put_down()
end
local known = fate(id)
if not known then -- it may still be under way: buried, it comes too late
    bury(id, 'w')
end
return {'ended', known or 'w', '', tenures()}
