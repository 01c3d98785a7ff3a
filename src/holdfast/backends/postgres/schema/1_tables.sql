-- holdfast's own schema: tables. Read 2_moves.sql beside rules/desk.py, 3_claims.sql beside rules/claim.py.
--
-- Times are microseconds of the database's wall clock. Names sort by their bytes ("C"), which is also the
-- order in which a batch locks them. No column that changes in the everyday is indexed, and pages keep
-- room, so taking and giving back are HOT updates: no index grows, and pages clean up after themselves.

-- One row per grant. Seat 0 is also the row of its name: whoever steps a name locks it first, FOR NO KEY
-- UPDATE. A transaction that relies on a grant may pin its row with FOR KEY SHARE: steps go on beside that,
-- but a grant is ended only under FOR UPDATE, and a seat that is pinned stays taken until it is let go.
CREATE TABLE holdfast.seats (
    prefix text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    seat integer NOT NULL,
    claim_id text,                       -- NULL: free; '': its claim has ended, and the seat is pinned
    token bigint NOT NULL DEFAULT 0,
    ends_at bigint NOT NULL DEFAULT 0,
    granted_at bigint NOT NULL DEFAULT 0,
    weight bigint NOT NULL DEFAULT 0,
    ttl bigint NOT NULL DEFAULT 0,
    inbox text NOT NULL DEFAULT '',
    holder jsonb,                        -- [client, host, pid, label]
    metadata jsonb,
    detached boolean NOT NULL DEFAULT false,
    slots integer[],
    broken text NOT NULL DEFAULT '',
    -- of the name, on seat 0 only:
    kind text NOT NULL DEFAULT 'lock',
    capacity bigint NOT NULL DEFAULT 1,
    last_token bigint NOT NULL DEFAULT 0,
    taken integer NOT NULL DEFAULT 0,    -- how many of its seats are not free
    waiting integer NOT NULL DEFAULT 0,
    joins bigint NOT NULL DEFAULT 0,
    patience_floor bigint NOT NULL DEFAULT 0,  -- no waiter loses patience before
    ended text NOT NULL DEFAULT '',      -- ids that ended lately, oldest first: "id how-and-until;"
    forget_on integer,                   -- the hour in which an idle name may go
    PRIMARY KEY (prefix, name, seat)
) WITH (
    fillfactor = 50, toast_tuple_target = 8160,  -- nothing is compressed or moved away at every step
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1
);

-- Its condition is one that no other question asks: on an empty table a planner would take it for theirs.
CREATE INDEX idle_seats ON holdfast.seats (forget_on) WHERE forget_on IS NOT NULL;

-- Who waits for a name, in the order of joining. Patience changes every second, and is not indexed.
CREATE TABLE holdfast.waiters (
    prefix text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    place bigint NOT NULL,
    claim_id text COLLATE "C" NOT NULL,
    patience_until bigint NOT NULL,
    seen_token bigint NOT NULL,
    joined_at bigint NOT NULL,
    weight bigint NOT NULL,
    ttl bigint NOT NULL,
    inbox text NOT NULL,
    holder jsonb,
    metadata jsonb,
    detached boolean NOT NULL,
    PRIMARY KEY (prefix, name, place),
    UNIQUE (prefix, name, claim_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);

-- What cell, once and singleton are made of: Kept in rules/record.py.
CREATE TABLE holdfast.records (
    prefix text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    space text COLLATE "C" NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    value bytea,
    ends_at bigint,
    fence bigint NOT NULL DEFAULT 0,
    swaps text NOT NULL DEFAULT '',
    dropped bigint NOT NULL DEFAULT 0,
    forget_on integer,
    PRIMARY KEY (prefix, name, space)
) WITH (fillfactor = 70);

CREATE INDEX idle_records ON holdfast.records (forget_on) WHERE forget_on IS NOT NULL;

-- What limiter is made of: Bucket in rules/bucket.py.
CREATE TABLE holdfast.buckets (
    prefix text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    space text COLLATE "C" NOT NULL,
    amount bigint NOT NULL,
    period bigint NOT NULL,
    burst bigint NOT NULL,
    owed bigint NOT NULL,
    at bigint NOT NULL,
    takes text NOT NULL,
    forget_on integer NOT NULL,
    PRIMARY KEY (prefix, name, space)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);

CREATE INDEX idle_buckets ON holdfast.buckets (forget_on) WHERE forget_on IS NOT NULL;

-- The clock of every step, read after its name is locked: the time of the decision, not of the wish.
CREATE FUNCTION holdfast.clock() RETURNS bigint LANGUAGE sql VOLATILE
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- The birth mark of this memory, which every reply carries, and since when its server had been running.
-- Written into functions, they cost nothing to read; made anew, they are others.
DO $$
BEGIN
    EXECUTE format(
        'CREATE FUNCTION holdfast.birth() RETURNS bigint LANGUAGE sql IMMUTABLE RETURN %s::bigint',
        holdfast.clock());
    EXECUTE format(
        'CREATE FUNCTION holdfast.born_on() RETURNS bigint LANGUAGE sql IMMUTABLE RETURN %s::bigint',
        (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint);
END $$;

-- For how long nothing may be granted: a server that was younger than the quarantine when it got this
-- schema may be one that has lost everything (DESIGN: amnesia).
CREATE FUNCTION holdfast.held_back(a_quarantine bigint, a_now bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN CASE WHEN a_quarantine = 0 THEN 0 ELSE greatest(0, holdfast.born_on() + a_quarantine - a_now) END;
