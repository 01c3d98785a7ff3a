-- The beginning of every script: one voter of a quorum, rules/voter.py in the server's language.
-- That file is the specification; differential tests hold them together.
--
-- KEYS are two for each name, its slip and the ids that ended there lately, and last what the voter knows
-- of itself, a hash: run (the process that was let in), floor, highest (tokens), touched (when its end was
-- last put off), and while it is not let in asked (the process that was asked first) or blank (when it was
-- first asked and knew nothing). ARGV[1] is the id of the process that the asker is connected to: if it is
-- not the one that was let in, this voter may have forgotten something, and gives nothing.
-- Times are microseconds of the server's clock. A slip is a list in msgpack; what it calls ``about``
-- (who, metadata) only clients read. Watchers are lists: id, inbox, about, since, until.
-- Server time is dear: what most calls need comes first and makes no functions.

local LAST, KIND, ID, TOKEN, ENDS, SINCE, INBOX, ABOUT, BROKEN, WATCHERS = 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
local call, whole = redis.call, '%.0f'
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local own = KEYS[#KEYS]
local myself = call('HMGET', own, 'run', 'floor', 'highest', 'touched')
local settled = myself[1] == ARGV[1]
local floor, highest = tonumber(myself[2] or 0), tonumber(myself[3] or 0)
