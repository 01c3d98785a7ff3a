-- Mark the vote that was given with this token, or take it away. ARGV from 2 on: token, reason, force.
-- Counterpart: _break in rules/voter.py.

--@ moves

call('HDEL', own, '') -- a first write that a full server allows: so it allows the next ones
if not take_up(1) then
    return {'format'}
end
sweep()
if slip[ID] == '' or slip[TOKEN] ~= tonumber(ARGV[2]) then
    return {'not held', tenures()}
end
slip[BROKEN] = ARGV[3] ~= '' and ARGV[3] or 'broken'
local forced = ARGV[4] == '1'
tell(slip[INBOX], forced and 'forced' or 'broken', slip[ID], slip[TOKEN], slip[BROKEN])
local broken = tenures()[1]
if forced then
    bury(slip[ID], 'b')
    free()
end
put_down()
return {'broke', broken}
