-- The clock of every step, and the birth mark of the server's memory (DESIGN: amnesia).
--
-- A script is birth.lua and its own file, with moves.lua in the place that it names: rules/claim.py
-- in the server's language. That file is the specification; differential tests hold them together.
-- Server time is dear here: what most calls need comes first and makes no closures (decision 0011).
--
-- KEYS of a name, all in one slot: its record, the ids that ended lately, the queue, the waiters'
-- patience, the waiters. The last of all KEYS, where there is one more, is the birth mark of the
-- prefix; in Cluster there is none (the wire asks each node itself). ARGV[1] is the quarantine.
-- Times are microseconds of the server's clock. Every reply begins with the birth mark; the two that
-- most calls get are bytes, which cost less than lists: granted (1, mark, token, time left, since when,
-- slots) and ended (2, mark, how).

local SEMAPHORE = 3
local call = redis.call
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- How long nothing may be granted: a server without the mark that is younger than the quarantine
-- has forgotten what it granted. An old one without it is new to this prefix: it gets its mark;
-- unless it was a replica, which may have copied the empty memory of a master that was young.
local birth_key = #KEYS % 5 == 1 and KEYS[#KEYS]
local mark, held_back = 0, tonumber(ARGV[1])
if birth_key then
    local found = call('GET', birth_key)
    mark = found and tonumber(string.sub(found, 1, 16)) or 0
    if mark > 0 then
        held_back = 0
    elseif held_back > 0 then
        local info = redis.pcall('INFO', 'server')
        local past = redis.pcall('INFO', 'replication')
        local was_replica = type(past) == 'string' and string.find(past, 'master_replid2:0*[1-9a-f]')
        local age = not was_replica and type(info) == 'string'
            and string.match(info, 'uptime_in_seconds:(%d+)')
        if found then -- its age tells nothing: counted from when it was first asked
            age = clock[1] - string.sub(found, 17)
        elseif not age then
            age = 0
            redis.pcall('SET', birth_key, string.rep('0', 16) .. clock[1], 'PX', 172800000)
        end
        -- These are whole seconds, so it may be up to one second younger than that.
        held_back = math.max(0, held_back - (age - 1) * 1000000)
    end
    -- The mark goes two days after its last use: put off once an hour, as its own end says.
    if held_back == 0 and (mark == 0 or clock[1] - string.sub(found, 17) >= 3600) then
        mark = mark > 0 and mark or now
        local lives = math.max(172800000, call('PTTL', birth_key))
        -- A full server may refuse this: then the next step tries again.
        redis.pcall('SET', birth_key, string.format('%016.0f', mark) .. clock[1], 'PX', lives)
    end
end
