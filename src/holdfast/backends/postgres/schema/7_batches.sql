-- Many requests in one statement: what one client asks at the same moment. They come sorted by the names'
-- bytes, so that two batches lock what they share in the same order. One reply each, in that order.

CREATE FUNCTION holdfast.renew_many(a_prefix text, a_quarantine bigint, a_name text, a_items jsonb)
RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT holdfast.renew(a_prefix, a_quarantine, a_name, array_agg(i ->> 0 ORDER BY number),
        array_agg((i -> 1)::bigint ORDER BY number), array_agg((i -> 2)::bigint ORDER BY number),
        array_agg((i -> 3)::bigint ORDER BY number))
    FROM jsonb_array_elements(a_items) WITH ORDINALITY AS items (i, number)
$$;

CREATE FUNCTION holdfast.ask_many(a_prefix text, a_quarantine bigint, a_requests jsonb) RETURNS text
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
DECLARE
    r jsonb;
    i jsonb;
    q constant bigint := a_quarantine;
    replies text[] := '{}';
    reply text;
BEGIN
    FOR r IN SELECT value FROM jsonb_array_elements(a_requests) LOOP
        CASE r ->> 0
            WHEN 'claim' THEN
                reply := holdfast.claim(
                    a_prefix, q, r ->> 1, r ->> 2, (r -> 3)::bigint, r ->> 4, (r -> 5)::bigint,
                    (r -> 6)::bigint, (r -> 7)::bigint, (r -> 8)::bigint, r ->> 9, r -> 10,
                    nullif(r -> 11, 'null'), (r -> 12)::boolean);
            WHEN 'finish' THEN
                reply := holdfast.finish(a_prefix, q, r ->> 1, r ->> 2, r ->> 3);
            WHEN 'renew' THEN
                i := r -> 2 -> 0;
                reply := CASE WHEN jsonb_array_length(r -> 2) = 1
                    THEN holdfast.renew(
                        a_prefix, q, r ->> 1, ARRAY[i ->> 0], ARRAY[(i -> 1)::bigint],
                        ARRAY[(i -> 2)::bigint], ARRAY[(i -> 3)::bigint])
                    ELSE holdfast.renew_many(a_prefix, q, r ->> 1, r -> 2) END;
            WHEN 'advance' THEN
                reply := holdfast.advance(a_prefix, q, r ->> 1, r ->> 2);
            WHEN 'break' THEN
                reply := holdfast.break(
                    a_prefix, q, r ->> 1, (r -> 2)::bigint, r ->> 3, (r -> 4)::boolean);
            WHEN 'look' THEN
                reply := holdfast.look(a_prefix, r ->> 1);
            WHEN 'list' THEN
                reply := holdfast.list(a_prefix, r ->> 1, r ->> 2, (r -> 3)::integer);
            WHEN 'record_get' THEN
                reply := holdfast.record_get(a_prefix, q, r ->> 2, r ->> 1);
            WHEN 'record_swap' THEN
                reply := holdfast.record_swap(
                    a_prefix, q, r ->> 2, r ->> 1, r ->> 3, decode(r ->> 4, 'base64'),
                    (r -> 5)::bigint, (r ->> 6)::bigint, (r -> 7)::bigint);
            WHEN 'bucket_take' THEN
                reply := holdfast.bucket_take(
                    a_prefix, q, r ->> 2, r ->> 1, r ->> 3, (r -> 4)::bigint, (r -> 5)::bigint,
                    (r -> 6)::bigint, (r -> 7)::bigint, (r -> 8)::bigint, (r -> 9)::boolean);
            WHEN 'bucket_give_back' THEN
                reply := holdfast.bucket_give_back(a_prefix, r ->> 2, r ->> 1, r ->> 3);
        END CASE;
        replies := replies || reply;
    END LOOP;
    RETURN '[' || array_to_string(replies, ',') || ']';
END $$;
