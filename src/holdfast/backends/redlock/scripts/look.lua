-- Show one name as it stands now, changing nothing. Counterpart: view in rules/voter.py.

--@ moves

if not take_up(1) then
    return {'format'}
end
if slip[ID] ~= '' and slip[ENDS] <= now then
    slip[ID] = ''
end
local line = {}
for _, watcher in ipairs(slip[WATCHERS]) do
    if watcher[5] > now then
        line[#line + 1] = {watcher[3], watcher[4]}
    end
end
return {'seen', slip[KIND], math.max(0, slip[LAST]), tenures(), line}
