-- Hold several names, or none of them. Counterpart: step_all in rules/together.py.
-- KEYS: those of each name in turn. ARGV from 2 on, five for each name: id, largest token seen, what is
-- wanted, inbox, who: as in claim.lua. The reply has a standing for each, as claim.lua would give it.

--@ moves
--@ room

if held_back > 0 then
    return {mark, 'apart'} -- one by one they can wait for the end of the quarantine
end

-- Nothing can come between the steps of a script, so all are looked at before any is granted. The
-- moving on that comes first is what every step does, and is kept in any case.
local count, all, claims, standings = (#KEYS - #KEYS % 5) / 5, true, {}, {}

local function standing_of(claim)
    local id = claim.id
    if name.grant_of(id) then
        name.confirm()
    end
    if name.grant_of(id) or name.patience_of(id) or name.fate(id) then
        return name.standing(id), name.grant_of(id) ~= nil
    end
    local why, detail = name.refusal(claim.kind, claim.capacity, claim.fields[WEIGHT])
    if why then
        return {mark, 'refused', why, detail}, false
    end
    -- An idle name has the capacity that the claim says it has.
    if (#name.grants == 0 and name.waiting == 0) or name.has_room(claim.fields[WEIGHT]) then
        return nil, true
    end
    return {mark, 'busy', name.waiting, name.holders()}, false
end

for i = 1, count do
    local at = i * 5 - 3
    local kind, capacity, weight, ttl = struct.unpack('<Bdddd', ARGV[at + 2])
    claims[i] = {
        id = ARGV[at], kind = kind, capacity = capacity, first = i * 5 - 4,
        fields = {ARGV[at + 4], ARGV[at + 3], weight, ttl, tonumber(ARGV[at + 1]), now}
    }
    if not name.take_up(i * 5 - 4, call('GET', KEYS[i * 5 - 4])) then
        return {mark, 'format'}
    end
    name.sweep()
    name.hand_over({[ARGV[at]] = true})
    local fits
    standings[i], fits = standing_of(claims[i])
    all = all and fits
    name.put_down()
end

for i, claim in ipairs(claims) do
    if not standings[i] and not all then
        standings[i] = {mark, 'busy', 0, {}}
    elseif not standings[i] then
        name.take_up(claim.first, call('GET', KEYS[claim.first]))
        if #name.grants == 0 and name.waiting == 0 then
            name.kind, name.capacity = claim.kind, claim.capacity
        end
        name.grant(claim.id, claim.fields, claim.fields[TTL])
        standings[i] = name.standing(claim.id)
        name.put_down()
    end
end
return {mark, 'together', standings}
