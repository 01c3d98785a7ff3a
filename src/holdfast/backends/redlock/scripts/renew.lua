-- Keep the vote, under the token that the quorum has agreed on. ARGV from 2 on: id, token, ttl of each.
-- Counterpart: _renew in rules/voter.py.

--@ moves

call('HDEL', own, '') -- a first write that a full server allows: so it allows the next ones
if not settled then
    return {'unsettled'}
end
if not take_up(1) then
    return {'format'}
end
sweep()
local answers, changed = {}, false
for at = 2, #ARGV, 3 do
    local id, token, ttl = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    if slip[ID] ~= id then
        answers[#answers + 1] = {'ended', fate(id) or 'u', '', tenures()}
    else
        if slip[BROKEN] == '' then
            token = token > 0 and token or slip[TOKEN]
            slip[TOKEN], slip[LAST] = token, math.max(slip[LAST], token)
            slip[ENDS] = math.max(slip[ENDS], now + ttl)
            know(token)
            changed = true
        end
        answers[#answers + 1] = standing()
    end
end
if changed then
    put_down()
end
return {'renewed', answers}
