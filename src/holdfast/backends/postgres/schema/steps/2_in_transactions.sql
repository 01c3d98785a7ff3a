-- Version 2: what a caller's own transaction asks. Counterparts: holdfast/postgres/guard.py and fence.py.
--
-- Both refuse by an error and not by an answer: an error ends the transaction, so that nothing of it can be
-- committed, whatever the program makes of the exception. The states are read in holdfast/postgres/refusals.py.

-- The largest token that was seen at each resource. Nothing here is forgotten: a row that went would let an
-- old holder in. fenced_at is for people who know that a resource is gone.
CREATE TABLE holdfast.fences (
    resource text COLLATE "C" PRIMARY KEY,
    token bigint NOT NULL,
    fenced_at timestamptz NOT NULL
) WITH (fillfactor = 70);

-- Pin a grant until this transaction ends, or refuse. A step that ends the grant has the row FOR UPDATE: who
-- comes then waits for it, and finds the grant gone; who came before is passed over by it (decision 0020).
CREATE FUNCTION holdfast.guard(a_prefix text, a_birth bigint, a_name text, a_token bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
BEGIN
    IF holdfast.birth() <> a_birth THEN
        RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = 'holdfast: these tables never granted this lease';
    END IF;
    PERFORM FROM holdfast.seats AS s
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.token = a_token
        AND s.claim_id <> '' AND s.broken = '' AND s.ends_at > holdfast.clock()
    FOR KEY SHARE;
    IF FOUND THEN
        RETURN;
    END IF;
    -- With an old snapshot it may be held and not be seen. Then one of these rows is new, or has changed since,
    -- which makes these statements fail with a serialization failure: to be tried again, and not a loss. What
    -- they do themselves is undone by the error below.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        INSERT INTO holdfast.seats (prefix, name, seat) VALUES (a_prefix, a_name, 0) ON CONFLICT DO NOTHING;
        PERFORM FROM holdfast.seats AS s WHERE s.prefix = a_prefix AND s.name = a_name
        FOR NO KEY UPDATE;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'HF001', MESSAGE = 'holdfast: the lease is not held';
END $$;

-- Let a token pass that is not smaller than any before it, and remember it. The row stays locked until the
-- transaction ends: whoever comes meanwhile learns what became of it first.
CREATE FUNCTION holdfast.fence(a_resource text, a_token bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
DECLARE
    larger bigint;
BEGIN
    INSERT INTO holdfast.fences AS f (resource, token, fenced_at)
    VALUES (a_resource, a_token, clock_timestamp())
    ON CONFLICT (resource) DO UPDATE SET token = EXCLUDED.token, fenced_at = EXCLUDED.fenced_at
    WHERE f.token <= EXCLUDED.token;
    IF NOT FOUND THEN
        SELECT f.token INTO larger FROM holdfast.fences AS f WHERE f.resource = a_resource;
        RAISE EXCEPTION USING ERRCODE = 'HF003', MESSAGE = format('holdfast: token %s was here before', larger);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION holdfast.version() RETURNS integer LANGUAGE sql IMMUTABLE RETURN 2;
