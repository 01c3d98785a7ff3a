-- What PostgreSQL's own locks are about. The truth is in pg_locks; a row here only explains a lock that is there.
-- Rows of sessions that are gone explain nothing, so the table need not survive a crash, in which all of them go.

CREATE SEQUENCE holdfast_advisory.tokens;

-- From the clock on, so that a schema that was dropped and made again does not repeat itself.
SELECT setval('holdfast_advisory.tokens', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);

CREATE UNLOGGED TABLE holdfast_advisory.claims (
    key bigint NOT NULL,
    pid integer NOT NULL,       -- the session
    token bigint NOT NULL,      -- 0: it waits
    prefix text NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    capacity integer NOT NULL,
    weight integer NOT NULL,
    since timestamptz NOT NULL,
    ttl integer NOT NULL,       -- milliseconds
    holder text NOT NULL,       -- JSON: client, host, pid, label
    metadata text NOT NULL,
    broken text NOT NULL DEFAULT ''
);

CREATE INDEX claims_by_key ON holdfast_advisory.claims (key);
CREATE INDEX claims_by_session ON holdfast_advisory.claims (pid);

-- Advisory locks of this database; those with two numbers are other programs' own.
CREATE VIEW holdfast_advisory.locks AS
SELECT (l.classid::bigint << 32) | l.objid::bigint AS key, l.objsubid = 2 AS paired,
    l.pid, l.granted, l.mode = 'ShareLock' AS shared, l.waitstart
FROM pg_catalog.pg_locks l
WHERE l.locktype = 'advisory'
    AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database());

-- The same, with all that is known of who has them. What other users' sessions do may be hidden from us.
CREATE VIEW holdfast_advisory.explained AS
SELECT l.key, l.paired, l.pid, l.granted, l.shared, l.waitstart,
    coalesce(c.token, 0) AS token, c.prefix, c.name, c.kind, c.capacity, c.weight,
    extract(epoch FROM coalesce(c.since, l.waitstart, a.xact_start, a.backend_start)) AS since,
    greatest(0, c.ttl / 1000.0 - CASE WHEN a.state = 'idle'
        THEN extract(epoch FROM clock_timestamp() - a.state_change) ELSE 0 END) AS remaining,
    c.holder, c.metadata, c.broken, a.application_name, host(a.client_addr) AS address
FROM holdfast_advisory.locks l
LEFT JOIN holdfast_advisory.claims c ON c.key = l.key AND c.pid = l.pid AND NOT l.paired
LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid;
