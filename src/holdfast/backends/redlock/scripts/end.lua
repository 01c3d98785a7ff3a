-- Take votes back, one after another. ARGV from 2 on: how, which is released, withdrawn, or undone without a
-- word to those who wait; then the id of each name's claim. Counterpart: _end in rules/voter.py.
-- The reply to one is its own, the reply to several the list of theirs.

call('HDEL', own, '') -- a first write that a full server allows: so it allows the next ones
local quietly, how = ARGV[2] == 'x', ARGV[2] == 'r' and 'r' or 'w'
local last = #KEYS - 2
local replies = last > 1 and {}

-- As long as each has the vote and nobody waits for it, the short way: most releases.
local first, word, short = 1, 3, true
while short and first <= last do
    local id, stored = ARGV[word], call('GET', KEYS[first])
    local slip = stored and cmsgpack.unpack(stored) or {}
    short = slip[1] == 1 and slip[ID] == id and slip[ENDS] > now and #slip[WATCHERS] == 0
    if short then
        local ended = (call('GET', KEYS[first + 1]) or '') .. ';' .. id .. ' ' .. how
        if #ended > 64 * (#id + 3) then
            ended = string.sub(ended, (string.find(ended, ';', 2, true)))
        end
        call('SET', KEYS[first + 1], ended, 'PX', 60000)
        slip[ID], slip[INBOX], slip[ABOUT] = '', '', ''
        call('SET', KEYS[first], cmsgpack.pack(slip), 'PX', 86400000)
        local reply = {'ended', how, '', {}}
        if not replies then
            return reply
        end
        replies[#replies + 1] = reply
        first, word = first + 2, word + 1
    end
end
if short then
    return replies
end

--@ moves

local function end_it(id)
    if slip[ID] == id then
        slip[ID] = ''
        if not quietly then
            free()
        end
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
end

-- The first for which the short way was too short, and all after it.
while first <= last do
    local reply = {'format'}
    if take_up(first) then
        sweep()
        reply = end_it(ARGV[word])
    end
    if not replies then
        return reply
    end
    replies[#replies + 1] = reply
    first, word = first + 2, word + 1
end
return replies
