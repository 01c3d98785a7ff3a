-- Show one name while its slot is being moved from one node of a cluster to another.
--
-- Then a node refuses whoever names several keys of which it has not all, and most names have no queue.
-- So here only the record is named, and the keys of the queue are used only if there is one. If they are
-- not where the record is, the node fails the script, and whoever asked comes again.

--@ one key
--@ moves

local stored = call('GET', KEYS[1])
if not name.take_up(1, stored) then
    return {mark, 'format'}
end
if name.waiting > 0 then
    name.queue, name.patience = KEYS[1] .. ':queue', KEYS[1] .. ':patience'
    name.waiters = KEYS[1] .. ':waiters'
    if call('EXISTS', name.queue, name.patience, name.waiters) < 3 then
        return redis.error_reply('TRYAGAIN the queue is elsewhere')
    end
end

--@ view
