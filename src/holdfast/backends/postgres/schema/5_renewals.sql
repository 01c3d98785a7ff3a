-- Keep claims on one name alive: leases (with their token) and waiters (token 0). Counterparts: _keep_alive
-- and _renewed in rules/claim.py. The reply has who holds it and one answer per item: 0 is "still waiting".

CREATE FUNCTION holdfast.renew(
    a_prefix text, a_quarantine bigint, a_name text, a_ids text[], a_tokens bigint[], a_ttls bigint[],
    a_patiences bigint[]
) RETURNS text LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
DECLARE
    n holdfast.seats;
    moment bigint := holdfast.clock();
    held_back bigint;
    until_when bigint;
    nexts jsonb := '{}';
    answers text;
    all_granted boolean;
BEGIN
    -- The one who holds it, and nobody else: most renewals.
    IF cardinality(a_ids) = 1 THEN
        UPDATE holdfast.seats AS s SET
            ends_at = greatest(s.ends_at, moment + a_ttls[1]),
            forget_on = greatest(s.forget_on, holdfast.forgettable(moment + a_ttls[1]))
        WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0
            AND s.taken = 1 AND s.waiting = 0 AND s.claim_id = a_ids[1] AND s.ends_at > moment
            AND s.broken = '' AND a_tokens[1] IN (0, s.token)
        RETURNING s.token, s.ends_at, s.granted_at, s.slots INTO n.token, n.ends_at, n.granted_at, n.slots;
        IF FOUND THEN
            RETURN '[' || holdfast.birth() || ',"a",[],['
                || holdfast.granted(n.token, n.ends_at - moment, n.granted_at, n.slots) || ']]';
        END IF;
    END IF;

    IF holdfast.is_new(a_prefix, a_name) THEN
        RETURN '[' || holdfast.birth() || ',"a",[],['
            || array_to_string(array_fill('["e","u",""]'::text, ARRAY[cardinality(a_ids)]), ',') || ']]';
    END IF;
    n := holdfast.take_up(a_prefix, a_name);
    moment := holdfast.clock();
    held_back := holdfast.held_back(a_quarantine, moment);
    PERFORM holdfast.sweep(n, moment);
    PERFORM holdfast.hand_over(a_prefix, a_name, a_ids, moment, held_back);
    UPDATE holdfast.seats AS s SET ends_at = greatest(s.ends_at, moment + longest.ttl)
    FROM (
        SELECT t.seat, max(i.ttl) AS ttl
        FROM unnest(a_ids, a_tokens, a_ttls) AS i (id, token, ttl)
        JOIN holdfast.seats AS t ON t.prefix = a_prefix AND t.name = a_name AND t.claim_id = i.id
        WHERE i.token IN (0, t.token) AND t.broken = ''
        GROUP BY t.seat
    ) AS longest
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = longest.seat
        AND moment + longest.ttl > s.ends_at;
    IF FOUND THEN
        SELECT max(s.ends_at) INTO until_when FROM holdfast.seats AS s
        WHERE s.prefix = a_prefix AND s.name = a_name AND s.claim_id IS NOT NULL;
        UPDATE holdfast.seats AS s SET forget_on = holdfast.forgettable(until_when)
        WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0
            AND s.forget_on < holdfast.forgettable(until_when);
    END IF;
    UPDATE holdfast.waiters AS w SET patience_until = greatest(w.patience_until, moment + longest.patience)
    FROM (
        SELECT i.id, max(i.patience) AS patience FROM unnest(a_ids, a_patiences) AS i (id, patience)
        GROUP BY i.id
    ) AS longest
    WHERE w.prefix = a_prefix AND w.name = a_name AND w.claim_id = longest.id;
    IF FOUND THEN
        nexts := holdfast.next_ones(a_prefix, a_name, moment, held_back);
    END IF;

    SELECT * INTO n FROM holdfast.seats AS s
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0;
    SELECT string_agg(CASE
            WHEN g.seat IS NOT NULL AND g.broken <> '' THEN
                json_build_array('e', 'b', g.broken)::text
            WHEN g.seat IS NOT NULL AND i.token NOT IN (0, g.token) THEN '["e","u",""]'
            WHEN g.seat IS NOT NULL THEN
                holdfast.granted(g.token, g.ends_at - moment, g.granted_at, g.slots)
            WHEN w.place IS NOT NULL AND coalesce((nexts ->> i.id)::bigint, -1) < 0 THEN '0'
            WHEN w.place IS NOT NULL THEN '["w",' || (nexts ->> i.id) || ']'
            ELSE '["e","' || coalesce(holdfast.fate(n.ended, i.id, moment), 'u') || '",""]'
        END, ',' ORDER BY i.number),
        bool_and(g.seat IS NOT NULL AND g.broken = '' AND i.token IN (0, g.token))
    INTO answers, all_granted
    FROM unnest(a_ids, a_tokens) WITH ORDINALITY AS i (id, token, number)
    LEFT JOIN holdfast.seats AS g ON g.prefix = a_prefix AND g.name = a_name AND g.claim_id = i.id
    LEFT JOIN holdfast.waiters AS w ON w.prefix = a_prefix AND w.name = a_name AND w.claim_id = i.id;
    RETURN '[' || holdfast.birth() || ',"a",'
        || CASE WHEN all_granted THEN '[]' ELSE holdfast.holders(a_prefix, a_name, moment, 8) END
        || ',[' || answers || ']]';
END $$;
