"""The backend on Redis and Valkey: the rule as Lua, one round trip a step, push to pass on."""
