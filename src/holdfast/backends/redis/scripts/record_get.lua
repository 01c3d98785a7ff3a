--@ one key
-- Show a record; changes nothing. Counterpart: rules/record.py.

--@ record

return {mark, 'entry', entry()}
