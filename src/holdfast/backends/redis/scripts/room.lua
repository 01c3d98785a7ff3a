-- Whether the name that is taken up can be had by a newcomer: refusal and has_room in rules/desk.py.

-- Why a claim can never be right here, if so.
function name.refusal(kind, capacity, weight)
    if weight > capacity then
        return 'weight', weight .. ' of ' .. capacity .. ' can never be had'
    end
    if #name.grants == 0 and name.waiting == 0 then
        return nil -- kind and capacity bind only while the name is in use
    end
    if name.kind ~= kind then
        local kinds = {'lock', 'rwlock', 'semaphore', 'lead'}
        return 'kind', 'it is in use as a ' .. kinds[name.kind] .. ', not as a ' .. kinds[kind]
    end
    if name.capacity ~= capacity then
        return 'capacity', 'it is in use with ' .. name.capacity .. ' permits, not ' .. capacity
    end
end

-- Whether a newcomer may hold at once: it fits, and no living waiter is passed.
function name.has_room(weight)
    if held_back > 0 or name.free() < weight then
        return false
    end
    local alone = true
    name.walk(function(_, waiter)
        alone = not name.is_open(waiter[INBOX])
        return not alone
    end)
    return alone
end
