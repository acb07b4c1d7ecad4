import Commands
import TestSupport
import Testing

@testable import Store

@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)))
struct PostgreSQLValueTests {
    /// Sends values as parameters and reads them back; the server prints them, so that both directions cannot be wrong alike.
    private func expect<Value: PostgreSQLValue & Equatable>(
        _ values: [Value], as texts: [String?], cast: String = "text", _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let read = try await PostgreSQLRig().connected { connection in
            var read: [(Value, String?)] = []
            let statement = PostgreSQLStatement("round trip", "SELECT $1, $1::\(cast)")
            for value in values {
                let result = try connection.execute(statement, value, deadline: .soon)
                read += result.rows { row in (row[0] as Value, row[1] as String?) }
            }
            return read
        }
        #expect(read.map(\.0) == values, sourceLocation: location)
        #expect(read.map(\.1) == texts, sourceLocation: location)
    }

    @Test func `integers, truth values and floating-point numbers`() async throws {
        try await expect([Int16.min, -1, 0, 1, .max], as: ["-32768", "-1", "0", "1", "32767"])
        try await expect([Int32.min, -1, 0, .max], as: ["-2147483648", "-1", "0", "2147483647"])
        try await expect([Int64.min, -1, 0, .max], as: ["-9223372036854775808", "-1", "0", "9223372036854775807"])
        try await expect([Int.min, 7], as: ["-9223372036854775808", "7"])
        try await expect([true, false], as: ["true", "false"])
        try await expect([0, -0.5, 1e300, .infinity], as: ["0", "-0.5", "1e+300", "Infinity"] as [String?])
        try await expect([Timestamp(milliseconds: 1_700_000_000_123)], as: ["1700000000123"])
    }

    @Test func `texts, ids and bytes`() async throws {
        try await expect(["", "a", "äöü €", "\u{1}\n\t'\"\\$1"], as: ["", "a", "äöü €", "\u{1}\n\t'\"\\$1"])
        let id = try #require(CommandID("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"))
        try await expect([id], as: ["0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"])
        try await expect([[], [0], [0, 0xFF, 0x5C, 0x27]] as [[UInt8]], as: ["\\x", "\\x00", "\\x00ff5c27"])
    }

    @Test func `values that may be NULL`() async throws {
        try await expect([nil, 5] as [Int64?], as: [nil, "5"])
        try await expect([nil, ""] as [String?], as: [nil, ""])
        try await expect([nil, []] as [[UInt8]?], as: [nil, "\\x"])
        try await expect([nil, [1]] as [[Int64]?], as: [nil, "{1}"])
    }

    @Test func `arrays, empty ones and those with NULL`() async throws {
        try await expect([[], [1, -2]] as [[Int16]], as: ["{}", "{1,-2}"])
        try await expect([[], [1, -2]] as [[Int32]], as: ["{}", "{1,-2}"])
        try await expect([[], [.min, .max]] as [[Int64]], as: ["{}", "{-9223372036854775808,9223372036854775807}"])
        try await expect([[], ["", "a", "NULL", "ä,"]] as [[String]], as: ["{}", "{\"\",a,\"NULL\",\"ä,\"}"])
        try await expect([[], [[], [1, 2]]] as [[[UInt8]]], as: ["{}", "{\"\\\\x\",\"\\\\x0102\"}"])
        try await expect([[true, false]], as: ["{t,f}"])
        try await expect([[0.5]], as: ["{0.5}"])
        try await expect([[nil, 1, nil]] as [[Int64?]], as: ["{NULL,1,NULL}"])
        try await expect([["a", nil]] as [[String?]], as: ["{a,NULL}"])
        let ids = (0..<3).map { CommandID(high: $0, low: .max - $0) }
        try await expect([ids], as: ["{\(ids.map { "\($0)" }.joined(separator: ","))}"])
    }

    @Test func `a narrow column is read as a wider integer`() async throws {
        let read = try await PostgreSQLRig().connected { connection in
            try connection.run("SELECT 1::int2, 2::int4, 3::int8, 4::int2, 'n'::name, 'v'::varchar").rows { row in
                ([row[0] as Int, row[1], row[2]], row[3] as Int32, [row[4] as String, row[5]], row.isNull(0))
            }
        }
        #expect(read[0].0 == [1, 2, 3] && read[0].1 == 4 && read[0].2 == ["n", "v"] && !read[0].3)
    }

    @Test func `a mebibyte of bytes and of text`() async throws {
        let (bytes, text) = (sample(1 << 20), String(repeating: "äb", count: 350_000))
        let read = try await PostgreSQLRig().connected { connection in
            let statement = PostgreSQLStatement("mebibyte", "SELECT $1, $2, md5($1), octet_length($2)")
            return try connection.execute(statement, bytes, text, deadline: .soon).rows { row in
                (row[0] as [UInt8], row[1] as String, row[3] as Int)
            }
        }
        #expect(read[0].0 == bytes && read[0].1 == text && read[0].2 == 1_050_000)
    }

    @Test func `parameters of unnest are rows`() async throws {
        let ids = (0..<512).map { CommandID(high: $0, low: $0 &* 0x9E37_79B9_7F4A_7C15) }
        let numbers: [Int64?] = (0..<512).map { $0 % 3 == 0 ? nil : $0 }
        let payloads = (0..<512).map { sample($0) }
        let read = try await PostgreSQLRig().connected { connection in
            let statement = PostgreSQLStatement("unnest", "SELECT * FROM unnest($1, $2, $3) u(id, number, payload)")
            return try connection.execute(statement, ids, numbers, payloads, deadline: .soon).rows { row in
                (row[0] as CommandID, row[1] as Int64?, row[2] as [UInt8])
            }
        }
        #expect(read.map(\.0) == ids && read.map(\.1) == numbers && read.map(\.2) == payloads)
    }

    @Test func `text with NUL is refused as invalid`() async throws {
        let error = try await PostgreSQLRig().connected { connection in
            try connection.error { connection throws(PostgreSQLError) in
                _ = try connection.execute(PostgreSQLStatement("nul", "SELECT $1"), "a\0b", deadline: .soon)
            }
        }
        #expect(error.code == .invalid && error.sqlState?.text == "22021" && error.statement == "nul")
    }

    /// Sizes around multiples of 8 and 16 KiB: the buffers of libpq and of a TLS record.
    @Test(arguments: ["socket", "loopback"] + (PostgreSQLServer.hasTLS ? ["TLS"] : []))
    func `results of 8,000 to 100,000 bytes and rows arrive whole`(_ path: String) async throws {
        let rig = try await PostgreSQLRig()
        let url =
            switch path {
            case "socket": rig.server.socketURL()
            case "loopback": rig.server.url() + "?sslmode=disable"
            default: rig.server.url() + "?sslmode=require"
            }
        let sizes = [
            8_000, 8_192, 16_380, 16_384, 16_400, 32_768, 65_536, 81_830, 81_880, 81_920, 81_925, 99_999, 100_000,
        ]
        let read = try await rig.connected(url) { connection in
            guard connection.usesTLS == (path == "TLS") else {
                throw Missed("the connection has not the encryption of \(path)")
            }
            let bytes = PostgreSQLStatement("bytes", "SELECT repeat('x', $1::int4)::bytea")
            let rows = PostgreSQLStatement("rows", "SELECT n FROM generate_series(1, $1::int4) n")
            return try sizes.map { size in
                let one = try connection.execute(bytes, Int32(size), deadline: .soon)
                    .first { row in row.withBytes(0) { $0?.count ?? 0 } }
                let many = try connection.execute(rows, Int32(size), deadline: .soon)
                return (one ?? 0, many.count, many.affectedRows, many.rows { row in row[0] as Int }.reduce(0, +))
            }
        }
        for (size, found) in zip(sizes, read) {
            #expect(found.0 == size && found.1 == size && found.2 == size && found.3 == size * (size + 1) / 2)
        }
    }
}
