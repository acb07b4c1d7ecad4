internal import Commands

/// The inbox: the function `submit`, by which a transaction of any program submits commands, and the table in which they wait
/// for the coordinator (``InboxStore``).
///
/// The function takes no lock, so that a long transaction of a program delays no commit of the store. It sends no NOTIFY, which
/// takes one lock for the whole server at commit: 32 connections made 1,800 to 3,000 commits a second with it and 12,400 to
/// 15,300 without.
extension PostgreSQLSchema {
    static func inbox(in schema: String) -> [String] {
        [inboxTable, submitText(in: schema)]
            + ["json", "jsonb"].map { submitJSON($0, in: schema) }
            + submitFunctions(in: schema).map { "REVOKE ALL ON FUNCTION \($0) FROM PUBLIC" }
    }

    /// The numbers are drawn by the calls. A row becomes visible at the commit of its transaction, so that a number may appear
    /// behind greater ones. `options` is a JSON object with the fields of ``InboxEntry/options``. `is_ordered`: the command has
    /// an ordering key, or waits for others.
    private static let inboxTable = """
        CREATE TABLE inbox(
            number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id uuid NOT NULL, type text COLLATE "C" NOT NULL,
            payload bytea NOT NULL, options text NOT NULL, is_ordered bool NOT NULL)
        WITH (\(busy))
        """

    // MARK: The function

    /// A parameter behind the payload: its name, its type and its default.
    private static let options: [(name: String, type: String, value: String)] = [
        ("destination", "text", "NULL"), ("qos", "text", "NULL"), ("idempotent", "boolean", "NULL"),
        ("unique_key", "text", "NULL"), ("unique_for", "text", "NULL"), ("ordering_key", "text", "NULL"),
        ("key_limit", "integer", "NULL"), ("key_failure", "text", "NULL"), ("not_before", "timestamptz", "NULL"),
        ("deadline", "timestamptz", "NULL"), ("retry_limit", "integer", "NULL"), ("after", "text[]", "NULL"),
        ("batch", "uuid", "NULL"), ("rate_limit", "text", "NULL"),
    ]

    /// The functions as GRANT names them. A payload without a type, such as a literal, is a text.
    static func submitFunctions(in schema: String) -> [String] {
        let types = options.map(\.type).joined(separator: ", ")
        return ["text", "json", "jsonb"].map { "\(schema).submit(text, \($0), \(types))" }
    }

    private static var optionParameters: String {
        options.map { "\($0.name) \($0.type) DEFAULT \($0.value)" }.joined(separator: ", ")
    }

    /// Submits a payload that the caller has as a value of JSON. Its text is that of the server.
    private static func submitJSON(_ type: String, in schema: String) -> String {
        let names = options.map { "$\($0.name)" }
        let passed = names.indices.map { "$\($0 + 3)" }.joined(separator: ", ")
        return """
            CREATE FUNCTION \(schema).submit(type text, payload \(type), \(optionParameters)) RETURNS uuid
            LANGUAGE sql VOLATILE AS $$ SELECT \(schema).submit($1, $2::text, \(passed)) $$
            """
    }

    private static let qualities = QualityOfService.allCases.map { "'\($0.name)'" }.joined(separator: ", ")
    private static let qualityNames = QualityOfService.allCases.map(\.name).joined(separator: ", ")

    /// The function runs with the rights of its owner, so that a caller needs none on the table, and with a fixed search path,
    /// in which objects of the caller hide none of the server's.
    ///
    /// It checks whatever needs neither a table nor an operation. The id is a UUID of version 7 (RFC 9562, section 5.7) whose
    /// last byte names the shard as ``CommandDraft/shardByte`` says. `gen_random_uuid()` brings the variant and the random bits.
    private static func submitText(in schema: String) -> String {
        """
        CREATE FUNCTION \(schema).submit(type text, payload text DEFAULT '{}', \(optionParameters)) RETURNS uuid
        LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = \(schema), pg_temp AS $$
        #variable_conflict use_variable
        DECLARE
            called timestamptz := clock_timestamp();
            bytes bytea;
            options jsonb;
            problem text;
            cause text;
            last int;
            id uuid;
        BEGIN
            problem := CASE
                WHEN type IS NULL OR type !~ '^[a-z0-9.-]{1,64}$' THEN
                    format('%L is not a command type: 1 to 64 of a-z, 0-9, "." and "-"', type)
                WHEN type IN ('\(CommandType.flow)', '\(CommandType.batch)') THEN
                    format('a %s is not submitted by SQL; use "sluice %1$s"', type)
                WHEN payload IS NULL THEN 'the payload is NULL; leave it out for {}'
                WHEN qos NOT IN (\(qualities)) THEN format('qos is %L and must be one of \(qualityNames)', qos)
                WHEN octet_length(unique_key) NOT BETWEEN 1 AND \(UniqueKey.maxLength) THEN
                    format('unique_key has 1 to \(UniqueKey.maxLength) bytes; this one has %s', octet_length(unique_key))
                WHEN starts_with(unique_key, '\(RequestKey.prefix)') THEN
                    'unique_key must not begin with "\(RequestKey.prefix)", which the door uses'
                WHEN unique_for IS NOT NULL AND unique_key IS NULL THEN
                    'unique_for says how long unique_key is held, which is missing'
                WHEN unique_for !~ '^(kept|running|[0-9.]+(ms|s|m|h|d)([0-9.]+(ms|s|m|h|d))*)$' THEN
                    format('unique_for is %L and must be kept, running, or a time of at least 1 ms such as 10m or 24h',
                        unique_for)
                WHEN octet_length(ordering_key) NOT BETWEEN 1 AND \(UniqueKey.maxLength) THEN
                    format('ordering_key has 1 to \(UniqueKey.maxLength) bytes; this one has %s', octet_length(ordering_key))
                WHEN (key_limit IS NOT NULL OR key_failure IS NOT NULL) AND ordering_key IS NULL THEN
                    'key_limit and key_failure need ordering_key, which is missing'
                WHEN key_limit NOT BETWEEN 1 AND 1000 THEN format('key_limit is %s and must be from 1 to 1,000', key_limit)
                WHEN key_failure NOT IN ('pass', 'hold') THEN format('key_failure is %L and must be pass or hold', key_failure)
                WHEN retry_limit NOT BETWEEN 0 AND \(Command.maxRetryLimit) THEN
                    format('retry_limit is %s and must be from 0 to \(Command.maxRetryLimit)', retry_limit)
                WHEN not_before NOT BETWEEN '1970-01-01 00:00+00' AND '9999-12-31 00:00+00' THEN
                    format('not_before is %s and must be from the year 1970 to 9999', not_before)
                WHEN deadline > '9999-12-31 00:00+00' THEN
                    format('deadline is %s and must be before the end of 9999; leave it out for none', deadline)
                WHEN deadline <= called THEN format('the deadline %s has passed: it is %s', deadline, called)
                WHEN not_before >= deadline THEN
                    format('the command would never run: not_before is %s, and its deadline is %s', not_before, deadline)
                WHEN cardinality(after) > \(CommandDraft.maxDependencies) THEN
                    format('a command waits for at most \(CommandDraft.maxDependencies) others, not %s', cardinality(after))
                WHEN array_position(after, NULL) IS NOT NULL THEN 'after has a NULL'
                WHEN rate_limit = '' THEN 'rate_limit is empty'
            END;
            IF problem IS NULL AND after IS NOT NULL AND EXISTS (SELECT FROM unnest(after) parent WHERE parent !~*
                '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(:(success|failure|end))?$') THEN
                problem := 'after must be ids of commands, each alone or as in ID:success, ID:failure or ID:end';
            END IF;
            IF problem IS NULL THEN
                bytes := convert_to(payload, 'UTF8');
                IF octet_length(bytes) > \(Command.payloadLimit) THEN
                    problem := format('the payload has %s bytes and may have \(Command.payloadLimit): submit a reference to it',
                        octet_length(bytes));
                END IF;
            END IF;
            IF problem IS NULL THEN
                BEGIN
                    PERFORM payload::json;
                EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
                    GET STACKED DIAGNOSTICS cause = PG_EXCEPTION_DETAIL;
                    problem := 'the payload is not valid JSON: ' || coalesce(nullif(cause, ''), SQLERRM);
                END;
            END IF;
            IF problem IS NOT NULL THEN
                RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'sluice: ' || problem;
            END IF;

            options := jsonb_strip_nulls(jsonb_build_object(
                'destination', destination, 'qos', qos, 'idempotent', idempotent, 'uniqueKey', unique_key,
                'uniqueFor', unique_for, 'orderingKey', ordering_key, 'keyLimit', key_limit, 'keyFailure', key_failure,
                'notBefore', to_char(not_before AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                'deadline', to_char(deadline AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                'retryLimit', retry_limit, 'after', to_jsonb(nullif(after, '{}')), 'batch', batch, 'limit', rate_limit));

            last := CASE
                WHEN coalesce(ordering_key, unique_key) IS NOT NULL THEN
                    get_byte(sha256(convert_to(coalesce(ordering_key, unique_key), 'UTF8')), 0)
                WHEN cardinality(after) > 0 THEN get_byte(uuid_send(left(after[array_lower(after, 1)], 36)::uuid), 15)
            END;
            bytes := overlay(uuid_send(gen_random_uuid())
                PLACING substring(int8send(floor(extract(epoch FROM called) * 1000)::int8) FROM 3) FROM 1 FOR 6);
            bytes := set_byte(bytes, 6, (get_byte(bytes, 6) & 15) | 112);
            IF last IS NOT NULL THEN bytes := set_byte(bytes, 15, last); END IF;
            id := encode(bytes, 'hex')::uuid;

            INSERT INTO \(schema).inbox(id, type, payload, options, is_ordered)
            VALUES (id, type, convert_to(payload, 'UTF8'), options::text,
                ordering_key IS NOT NULL OR coalesce(cardinality(after), 0) > 0);
            RETURN id;
        END
        $$
        """
    }
}
