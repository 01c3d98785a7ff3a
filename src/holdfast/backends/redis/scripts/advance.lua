-- Move the queue on, and say where this claim stands now.

--@ moves

local id, stored = ARGV[2], call('GET', KEYS[1])
if not name.take_up(1, stored) then
    return {mark, 'format'}
end
name.sweep()
name.hand_over({[id] = true})
local reply = name.standing(id)
name.put_down()
return reply
