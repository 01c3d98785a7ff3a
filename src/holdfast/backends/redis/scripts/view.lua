-- The name that is taken up as it stands now: view in rules/claim.py.

local held, line, lives = {}, {}, {}
for _, grant in ipairs(name.grants) do
    if grant[ENDS] > now then
        held[#held + 1] = name.tenure(grant)
    end
end
if name.waiting > 0 then
    local from = '(' .. string.format('%.0f', now)
    for _, id in ipairs(call('ZRANGEBYSCORE', name.patience, from, '+inf')) do
        lives[id] = true
    end
    for _, id in ipairs(call('ZRANGE', name.queue, 0, -1)) do
        local waiter = lives[id] and name.waiter_of(id)
        if waiter then
            line[#line + 1] = {waiter[ABOUT], waiter[WEIGHT], waiter[JOINED]}
        end
    end
end
return {mark, 'seen', name.kind, name.capacity, name.last_token, held, line}
