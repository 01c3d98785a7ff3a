-- The newest ids of a record or bucket, each with what came of it, as one text: rules/recent.py.

-- Say what came of an id, or nil.
local function outcome(text, id)
    local at = string.find(text, id .. ' ', 1, true)
    while at and at > 1 and string.byte(text, at - 1) ~= 59 do -- the end of another id
        at = string.find(text, id .. ' ', at + 1, true)
    end
    if at then
        local start = at + #id + 1
        return string.sub(text, start, string.find(text, ';', start, true) - 1)
    end
end

-- Add an id at the end; give the text, and what came of the last that had to go for it.
local function remember(text, id, what, longest)
    local forgotten
    text = text .. id .. ' ' .. what .. ';'
    while #text > longest do
        local cut = string.find(text, ';', 1, true)
        forgotten = string.sub(text, string.find(text, ' ', 1, true) + 1, cut - 1)
        text = string.sub(text, cut + 1)
    end
    return text, forgotten
end
