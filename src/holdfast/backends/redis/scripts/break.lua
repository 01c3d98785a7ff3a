-- Take the grant with this token away: when its holder lets go, or at once. _break in rules/claim.py.

call('HDEL', KEYS[5], '') -- a first write that a full server allows: so it allows the next ones

--@ moves

local token, reason, force = tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'
local stored = call('GET', KEYS[1])
if not name.take_up(1, stored) then
    return {mark, 'format'}
end
name.sweep()

local broken, place
for at, grant in ipairs(name.grants) do
    if grant[TOKEN] == token then
        broken, place = grant, at
    end
end
if not broken then
    name.hand_over({})
    name.put_down()
    return {mark, 'not held', name.holders()}
end
name.changed = true
broken[BROKEN] = reason ~= '' and reason or 'broken'
if force then
    table.remove(name.grants, place)
    name.bury(broken[ID], 'b')
end
name.tell(force and 'forced' or 'broken', broken, 0)
name.hand_over({})
name.put_down()
return {mark, 'broke', name.tenure(broken)}
