import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// The function `submit` of a schema, as a transaction of any program calls it.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct PostgreSQLSubmitFunctionTests {
    private struct Refusal: Sendable, CustomTestStringConvertible {
        var arguments: String
        var reason: String

        init(_ arguments: String, _ reason: String) { (self.arguments, self.reason) = (arguments, reason) }

        var testDescription: String { arguments }
    }

    private static let refusals = [
        Refusal("''", "'' is not a command type"),
        Refusal("NULL", "is not a command type"),
        Refusal("'Upload'", "'Upload' is not a command type: 1 to 64 of a-z"),
        Refusal("E'noop\\n'", "is not a command type"),
        Refusal("repeat('a', 65)", "is not a command type"),
        Refusal("'flow'", #"a flow is not submitted by SQL; use "sluice flow""#),
        Refusal("'batch'", "a batch is not submitted by SQL"),
        Refusal("'noop', NULL::text", "the payload is NULL"),
        Refusal("'noop', NULL::jsonb", "the payload is NULL"),
        Refusal("'noop', ''", "the payload is not valid JSON"),
        Refusal("'noop', '{'", "the payload is not valid JSON: The input string ended unexpectedly"),
        Refusal("'noop', repeat('[', 100000)", "the payload is not valid JSON"),
        Refusal("'noop', to_json(repeat('a', 1048575))", "the payload has 1048577 bytes and may have 1048576"),
        Refusal(
            "'noop', qos => 'urgent'", "qos is 'urgent' and must be one of userInteractive, userInitiated, default"),
        Refusal("'noop', qos => ''", "qos is ''"),
        Refusal("'noop', unique_key => ''", "unique_key has 1 to 512 bytes; this one has 0"),
        Refusal("'noop', unique_key => repeat('ä', 257)", "unique_key has 1 to 512 bytes; this one has 514"),
        Refusal("'noop', unique_key => 'idempotency:a'", "which the door uses"),
        Refusal("'noop', unique_for => '10m'", "unique_for says how long unique_key is held, which is missing"),
        Refusal(
            "'noop', unique_key => 'a', unique_for => 'soon'", "unique_for is 'soon' and must be kept, running, or"),
        Refusal("'noop', ordering_key => ''", "ordering_key has 1 to 512 bytes"),
        Refusal("'noop', key_limit => 2", "need ordering_key, which is missing"),
        Refusal("'noop', ordering_key => 'a', key_limit => 0", "key_limit is 0 and must be from 1 to 1,000"),
        Refusal("'noop', ordering_key => 'a', key_failure => 'stop'", "key_failure is 'stop' and must be pass or hold"),
        Refusal("'noop', retry_limit => 1001", "retry_limit is 1001 and must be from 0 to 1000"),
        Refusal("'noop', retry_limit => -1", "retry_limit is -1"),
        Refusal("'noop', not_before => 'infinity'", "not_before is infinity and must be from the year 1970 to 9999"),
        Refusal("'noop', deadline => 'infinity'", "deadline is infinity and must be before the end of 9999"),
        Refusal("'noop', deadline => now() - interval '1 hour'", "has passed"),
        Refusal(
            "'noop', deadline => now() + interval '1 hour', not_before => now() + interval '2 hours'",
            "the command would never run"),
        Refusal("'noop', after => ARRAY['a']", "after must be ids of commands"),
        Refusal("'noop', after => ARRAY[NULL]", "after has a NULL"),
        Refusal("'noop', after => array_fill(gen_random_uuid()::text, ARRAY[1001])", "at most 1000 others, not 1001"),
        Refusal("'noop', rate_limit => ''", "rate_limit is empty"),
    ]

    @Test(arguments: refusals)
    private func `a call with a wrong value fails at once and stores nothing`(_ refusal: Refusal) async throws {
        let (error, count) = try await InboxRig.run { rig in
            (try rig.error(of: "SELECT \(rig.schema.name).submit(\(refusal.arguments))"), try rig.inboxCount())
        }
        #expect(error.sqlState?.text == "22023" && count == 0)
        #expect(error.description.contains("sluice: ") && error.description.contains(refusal.reason), "\(error)")
    }

    @Test func `the id is a UUIDv7 of the server's time, whose shard follows from its keys as in any submit`()
        async throws
    {
        let parent = CommandID(now: .now, shardByte: 77)
        let drafts: [(arguments: String, draft: CommandDraft)] = [
            ("'noop', unique_key => 'kä'", .noop.with { $0.uniqueKey = "kä" }),
            ("'noop', ordering_key => 'o'", .noop.with { $0.orderingKey = "o" }),
            (
                "'noop', ordering_key => 'o', unique_key => 'u'",
                .noop.with {
                    $0.orderingKey = "o"
                    $0.uniqueKey = "u"
                }
            ),
            ("'noop', after => ARRAY['\(parent):end']", .noop.with { $0.dependencies = [Dependency(on: parent)] }),
        ]
        try await InboxRig.run { rig in
            for (arguments, draft) in drafts {
                let id = try rig.submit(arguments)
                #expect(id.shardByte == draft.shardByte, "\(arguments)")
                #expect(id.high >> 12 & 0xF == 7 && id.low >> 62 == 2)
                let distance = rig.store.clock.now() - id.madeAt
                #expect(distance > .seconds(-2) && distance < .seconds(60))
            }
            var connection = try rig.connect()
            let ids = try connection.run("SELECT \(rig.schema.name).submit('noop') FROM generate_series(1, 400)").rows {
                row in row[0] as CommandID
            }
            #expect(Set(ids).count == 400 && Set(ids.map { $0.shard(of: 8) }).count == 8)
            #expect(Set(ids.map(\.shardByte)).count > 128)
        }
    }

    @Test func `a payload of text is kept byte for byte, and one of JSON by its value`() async throws {
        let payloads = try await InboxRig.run { rig in
            for payload in [#"'{"b": 1.50, "b":1e2}'"#, #"'{"b": 1.50}'::json"#, #"'{"b": 1.50, "a" :"ä"}'::jsonb"#] {
                _ = try rig.submit("'noop', \(payload)")
            }
            _ = try rig.submit("'noop'")
            return try rig.entries().map { String(decoding: $0.payload, as: UTF8.self) }
        }
        #expect(
            payloads == [#"{"b": 1.50, "b":1e2}"#, #"{"b": 1.50}"#, #"{"a": "ä", "b": 1.50}"#, "{}"])
    }

    @Test func `the parameters are the members of a line of JSON`() async throws {
        let (id, options) = try await InboxRig.run { rig in
            let id = try rig.submit(
                """
                'noop', '{}'::jsonb, destination => 'https://a.test', qos => 'utility', idempotent => true,
                unique_key => 'u', unique_for => '1h30m', ordering_key => 'o', key_limit => 2, key_failure => 'hold',
                not_before => '2100-01-01 01:00+01', deadline => '2100-01-02 00:00:00.5+00', retry_limit => 0,
                after => ARRAY['0198c5f0-0000-7000-8000-000000000001:end'],
                batch => '0198c5f0-0000-7000-8000-000000000002', rate_limit => 'slow'
                """)
            _ = try rig.submit("'noop', after => '{}'")
            return (id, try rig.entries().map { try JSONValue(parsing: $0.options) })
        }
        #expect(id.madeAt > .base)
        let expected = try JSONValue(
            parsing: Array(
                """
                {"qos": "utility", "after": ["0198c5f0-0000-7000-8000-000000000001:end"],
                "batch": "0198c5f0-0000-7000-8000-000000000002", "limit": "slow", "keyLimit": 2, "deadline":
                "2100-01-02T00:00:00.500Z", "notBefore": "2100-01-01T00:00:00.000Z", "uniqueFor": "1h30m", "uniqueKey": "u",
                "idempotent": true, "keyFailure": "hold", "retryLimit": 0, "destination": "https://a.test",
                "orderingKey": "o"}
                """.utf8))
        for member in expected.members ?? [] { #expect(options[0][member.name] == member.value, "\(member.name)") }
        #expect(options[0].members?.count == expected.members?.count && options[1].members?.isEmpty == true)
    }

    @Test func `a transaction that is rolled back leaves nothing`() async throws {
        let counts = try await InboxRig.run { rig in
            var connection = try rig.connect()
            try connection.run("BEGIN")
            _ = try rig.submit("'noop'", &connection)
            try connection.run("SAVEPOINT before")
            _ = try rig.submit("'noop'", &connection)
            try connection.run("ROLLBACK TO SAVEPOINT before")
            let open = try rig.inboxCount()
            try connection.run("COMMIT")
            let committed = try rig.inboxCount()
            try connection.run("BEGIN")
            _ = try rig.submit("'noop'", &connection)
            try connection.run("ROLLBACK")
            return [open, committed, try rig.inboxCount()]
        }
        #expect(counts == [0, 1, 1])
    }

    /// A temporary table and a function of the caller hide nothing from a function with a fixed search path.
    @Test func `a producer's role submits from any search path, and has no rights on tables`() async throws {
        try await InboxRig.run { rig in
            let (name, role) = (rig.schema.name, "producer_\(UInt32.random(in: 0 ... .max))")
            var owner = try rig.connect()
            try owner.run("CREATE ROLE \(role) LOGIN")
            defer {
                _ = try? owner.run("DROP OWNED BY \(role)")
                _ = try? owner.run("DROP ROLE \(role)")
            }
            let before = try rig.error(of: "SELECT \(name).submit('noop')", as: role)
            #expect(before.sqlState?.text == "42501")
            try owner.run("GRANT USAGE ON SCHEMA \(name) TO \(role)")
            let without = try rig.error(of: "SELECT \(name).submit('noop', '{}'::jsonb)", as: role)
            #expect(without.sqlState?.text == "42501")
            for statement in PostgreSQLSchema.producerGrants(name, to: role).split(separator: ";\n") {
                try owner.run(String(statement))
            }
            var connection = try rig.connect(as: role)
            try connection.run("CREATE TEMPORARY TABLE inbox(id uuid, type text, payload bytea, options text)")
            try connection.run(
                "CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT NULL::bytea $$")
            for path in ["pg_temp", "''", "pg_temp, \(name)"] {
                try connection.run("SET search_path = \(path)")
                _ = try rig.submit("'noop', unique_key => 'a'", &connection)
                _ = try rig.submit("'noop', '{}'::jsonb", &connection)
                _ = try rig.submit("'noop', '{}'::json", &connection)
            }
            #expect(try rig.inboxCount() == 9)
            for sql in [
                "SELECT FROM \(name).inbox", "DELETE FROM \(name).inbox", "SELECT FROM \(name).command",
                "INSERT INTO \(name).inbox(id, type, payload, options) VALUES (gen_random_uuid(), 'noop', '', '{}')",
                "SELECT nextval('\(name).inbox_number_seq')",
            ] {
                let error = try rig.error(of: sql, as: role)
                #expect(error.sqlState?.text == "42501", "\(sql)")
            }
        }
    }

    /// As drivers do that leave the types of parameters to the server: Postgrex, psycopg, and JDBC with
    /// `stringtype=unspecified`. `PREPARE` resolves them as the extended protocol does.
    @Test func `parameters without a type are texts, and those with a cast have its type`() async throws {
        let (types, entries) = try await InboxRig.run { rig in
            var connection = try rig.connect()
            let submit = "\(rig.schema.name).submit"
            try connection.run("PREPARE a AS SELECT \(submit)($1, $2)")
            try connection.run("PREPARE b AS SELECT \(submit)($1, $2::jsonb, qos => $3, not_before => $4)")
            // JDBC: setString sends varchar.
            try connection.run("PREPARE c(varchar, varchar) AS SELECT \(submit)($1, $2)")
            try connection.run("PREPARE d(varchar, varchar) AS SELECT \(submit)($1, $2::jsonb)")
            try connection.run("PREPARE e(text, json) AS SELECT \(submit)($1, $2)")
            for call in [
                "a('noop', '{\"a\": 1}')", "b('noop', '{}', 'utility', '2100-01-01')", "c('noop', '{}')",
                "d('noop', '{}')", "e('noop', '{}')",
            ] {
                try connection.run("EXECUTE \(call)")
            }
            let types = try connection.run(
                "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name IN ('a', 'b') ORDER BY name"
            ).rows { row in row[0] as [String] }
            return (types, try rig.entries())
        }
        #expect(types == [["text", "text"], ["text", "jsonb", "text", "timestamp with time zone"]])
        #expect(entries.count == 5 && entries.allSatisfy { $0.type == "noop" })
    }
}
