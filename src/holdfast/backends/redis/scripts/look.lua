-- Show one name as it stands now, changing nothing: view in rules/claim.py.

--@ moves

local stored = call('GET', KEYS[1])
if not name.take_up(1, stored) then
    return {mark, 'format'}
end

--@ view
