-- Last of all, so that it is there only when everything else is. A program of version N works with a schema
-- of version V if serves() <= N <= V.
CREATE FUNCTION holdfast.version() RETURNS integer LANGUAGE sql IMMUTABLE RETURN 1;
CREATE FUNCTION holdfast.serves() RETURNS integer LANGUAGE sql IMMUTABLE RETURN 1;
