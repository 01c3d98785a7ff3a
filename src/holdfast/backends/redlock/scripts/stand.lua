-- Say how this voter stands, or with ARGV[2] (a token) let it in. Counterpart: _admit in rules/voter.py.

local known = myself[1] and 1 or 0
if known == 1 and not settled then
    -- A process that was asked and not let in may have forgotten something: whoever comes after it
    -- has its memory, and is not known by what it has kept of the one before.
    local asked = call('HGET', own, 'asked')
    if not asked then
        call('HSET', own, 'asked', ARGV[1])
    elseif asked ~= ARGV[1] then
        known = 0
    end
end
local blank_for = -1
if not myself[1] then -- it knows nothing: counted from when it was first asked
    call('HSETNX', own, 'blank', string.format(whole, now))
    call('PEXPIRE', own, 172800000)
    blank_for = now - tonumber(call('HGET', own, 'blank'))
end
if ARGV[2] and not settled then
    floor = math.max(floor, tonumber(ARGV[2]))
    highest = math.max(highest, floor)
    call('HSET', own, 'run', ARGV[1], 'floor', string.format(whole, floor), 'highest', string.format(whole, highest), 'touched', clock[1])
    call('HDEL', own, 'blank', 'asked')
    call('PEXPIRE', own, 172800000)
    settled = true
end
return {'stood', settled and 1 or 0, highest, now, known, blank_for}
