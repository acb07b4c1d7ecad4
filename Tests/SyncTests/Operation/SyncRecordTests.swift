import Commands
import Foundation
import TestSupport
import Testing

/// JSON, record by record: section 5.4 of the contract, row by row.
@Suite struct SyncRecordTests {
    @Test func `numbers stay byte for byte, in records and in keys`() async throws {
        let body = """
            [{"id":1,"n":123456789012345678901234567890},{"id":1.0,"n":1e400},{"id":"1","n":9007199254740993},
             {"id":18446744073709551616}]
            """
        try await SyncHarness.with { _ in
            .json(body)
        } _: { harness in
            let outcome = try await harness.sync()
            #expect(outcome.result?["inserted"]?.integer == 4, "\(outcome)")
            #expect(
                try harness.records() == [
                    "n:1": #"{"id":1,"n":123456789012345678901234567890}"#, "n:1.0": #"{"id":1.0,"n":1e400}"#,
                    "s:1": #"{"id":"1","n":9007199254740993}"#,
                    "n:18446744073709551616": #"{"id":18446744073709551616}"#,
                ])
            #expect(
                try harness.probe().text("SELECT body -> '$.n' FROM record WHERE key = 'n:1'")
                    == "123456789012345678901234567890")
        }
    }

    @Test func `a record that cannot be taken is left out with its reason, and the others are taken`() async throws {
        let deep = String(repeating: "[", count: 70) + String(repeating: "]", count: 70)
        let rejected: [(record: String, reason: String)] = [
            (#"{"a":1}"#, "missing"), (#"{"id":null}"#, "null"), (#"{"id":{}}"#, "object"), (#"{"id":""}"#, "empty"),
            (#"{"id":"\#(String(repeating: "k", count: 1025))"}"#, "1024"), (#"{"id":"a\u0000b"}"#, "U+0000"),
            (#"{"id":1,"a":1,"a":2}"#, "twice"), (#"{"id":2,"a":"\ud800"}"#, "surrogate"),
            (#"{"id":3,"a":\#(deep)}"#, "nested"),
            (#"{"id":4,"a":"\#(String(repeating: "x", count: 2000))"}"#, "maxRecord"),
            ("7", "object"), (#"{"id":5,"a":01}"#, "JSON"), (#"{"id":6,"a":NaN}"#, "JSON"),
        ]
        let records = rejected.map(\.record).joined(separator: ",")
        try await SyncHarness.with { _ in
            .json("[{\"id\":100},\(records),{\"id\":200}]")
        } _: { harness in
            let outcome = try await harness.sync("\"maxRecord\":1500")
            #expect(try harness.keys() == ["n:100", "n:200"], "\(outcome)")
            let rejects = outcome.result?["rejects"]?.elements ?? []
            #expect(rejects.count == rejected.count, "\(outcome)")
            for (reject, expected) in zip(rejects, rejected) {
                #expect(
                    reject["reason"]?.string?.contains(expected.reason) == true, "\(reject.text) \(expected.record)")
            }
            #expect(rejects.map { $0["index"]?.integer } == (1...13).map { Int64($0) })
            let stored = try harness.probe().texts("SELECT coalesce(body, '-') FROM reject WHERE rev = 1 ORDER BY n")
            #expect(stored.count == 13 && stored[0] == #"{"a":1}"#)
        }
    }

    @Test func `scalars are their own keys where the key is the whole value`() async throws {
        try await SyncHarness.with { _ in
            .json("[1,\"a\",2.5,null]")
        } _: { harness in
            let outcome = try await harness.sync("\"key\":\"\",\"columns\":{\"v\":\"\"}")
            #expect(outcome.result?.numbers("inserted", "rejected") == [3, 1], "\(outcome)")
            #expect(try harness.records() == ["n:1": "1", "s:a": "\"a\"", "n:2.5": "2.5"])
        }
    }

    @Test func `several values make a key together`() async throws {
        try await SyncHarness.with { _ in
            .json(#"[{"a":1,"b":"x"},{"a":1,"b":"y"},{"a":"1","b":"x"}]"#)
        } _: { harness in
            let outcome = try await harness.sync(#""key":["/a","/b"]"#)
            #expect(outcome.result?.numbers("inserted", "duplicates") == [3, 0], "\(outcome)")
        }
    }

    @Test(arguments: [
        (#"{"data":{"a":1}}"#, CommandFailure.Fault.final, "no array at “/data”"),
        (#"{"error":"no such user"}"#, .final, "no such user"), ("<html><body>Login</body></html>", .final, "Login"),
        (")]}'\n[]", .command, "prefix"), (#"{"data":[{"id":1}]}]"#, .command, "after the end"),
        (#"{"data":[{"id":1}"#, .reset, "ended after"), (#"{"data":[{"id":1},]}"#, .command, "not valid JSON"),
        ("", .reset, "ended after 0"),
    ])
    func `a page that is not the list is a failure, and nothing is written`(
        _ body: String, _ fault: CommandFailure.Fault, _ words: String
    ) async throws {
        try await SyncHarness.with { _ in
            .json(body)
        } _: { harness in
            let outcome = try await harness.sync("\"items\":\"/data\"")
            #expect(outcome.failure?.fault == fault, "\(outcome)")
            #expect(outcome.failure?.reason.contains(words) == true, "\(outcome)")
            #expect(try harness.keys().isEmpty)
        }
    }

    @Test func `a byte order mark and white space are skipped`() async throws {
        try await SyncHarness.with { _ in
            .json("\u{FEFF} \n [ {\"id\":1} ] \n")
        } _: { harness in
            let outcome = try await harness.sync()
            #expect(outcome.result?["inserted"]?.integer == 1, "\(outcome)")
        }
    }

    @Test func `more rejects than permitted, and more bytes, apply nothing`() async throws {
        try await SyncHarness.with { _ in
            .json("[{\"id\":1},{},{},{}]")
        } _: { harness in
            let rejects = try await harness.sync("\"maxRejects\":2")
            #expect(
                rejects.failure?.fault == .final && rejects.failure?.reason.contains("maxRejects") == true, "\(rejects)"
            )
            let bytes = try await harness.sync("\"maxBytes\":10")
            #expect(bytes.failure?.fault == .final && bytes.failure?.reason.contains("maxBytes") == true, "\(bytes)")
            #expect(try harness.keys().isEmpty)
            let permitted = try await harness.sync("\"maxRejects\":3")
            #expect(permitted.failure == nil, "\(permitted)")
        }
    }

    @Test func `lines are records with ndjson`() async throws {
        try await SyncHarness.with { _ in
            .json("{\"id\":1}\n\n{\"id\":2}\r\n{\"id\":")
        } _: { harness in
            let cut = try await harness.sync("\"format\":\"ndjson\"")
            #expect(cut.failure?.fault == .reset, "\(cut)")
            harness.origin.set { _ in .json("{\"id\":1}\n\n{\"id\":2}\r\n{\"id\":3}") }
            let outcome = try await harness.sync("\"format\":\"ndjson\"")
            #expect(outcome.result?["inserted"]?.integer == 3, "\(outcome)")
            #expect(harness.server.requests.last?["accept"] == "application/x-ndjson")
        }
    }

    @Test func `a list is asked for without a content coding`() async throws {
        try await SyncHarness.with { _ in
            .json("[]")
        } _: { harness in
            let outcome = try await harness.sync()
            #expect(outcome.failure == nil, "\(outcome)")
            #expect(harness.server.requests.last?["accept-encoding"] == "identity")
        }
    }
}
