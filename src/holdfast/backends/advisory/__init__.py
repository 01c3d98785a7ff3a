"""PostgreSQL's own session locks: they die with their session. Talks through ``postgres``."""
