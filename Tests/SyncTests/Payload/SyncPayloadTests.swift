import Commands
import Operations
import TestSupport
import Testing

@testable import Sync
@testable import Transfers

@Suite struct SyncPayloadTests {
    private static let base: [JSONValue.Member] = [
        .init("url", "https://h.example/users"), .init("collection", "users"),
    ]

    static func payload(_ extra: [(String, JSONValue)] = [], without: String? = nil) throws(PayloadError) -> SyncPayload
    {
        var members = base.filter { $0.name != without }
        for (name, value) in extra {
            members.removeAll { $0.name == name }
            members.append(.init(name, value))
        }
        return try SyncPayload(.object(members))
    }

    private func refusal(_ extra: [(String, JSONValue)], without: String? = nil) -> PayloadError? {
        do throws(PayloadError) {
            _ = try Self.payload(extra, without: without)
            return nil
        } catch {
            return error
        }
    }

    @Test func `the records have one word in options and payloads, and the word of earlier payloads stays`() throws {
        let named = try ["records", "items"].map { try Self.payload([($0, "/data")]) }
        #expect(named[0].items == named[1].items && named[0].items.text == "/data")
    }

    @Test func `the defaults are those of the documentation`() throws {
        let payload = try Self.payload()
        #expect(
            payload.items == .root && payload.key.map(\.text) == ["/id"] && payload.mode == .upsert
                && payload.merge == .remote)
        #expect(
            payload.pages == .one && payload.since == nil && payload.isConditional && payload.format == .json
                && !payload.allowEmpty)
        #expect(
            payload.maxDelete == .percent(50) && payload.maxRecord == 1 << 20 && payload.maxRejects == 1000
                && payload.maxBytes == 1 << 30)
        #expect(payload.url.destination == Destination("https://h.example:443") && payload.isIdempotent)
        #expect(PagingRule.one.maxPages == 10_000)
    }

    static let keys = [
        "url", "collection", "items", "key", "mode", "merge", "version", "deleted", "deletedItems", "pages", "since",
        "conditional",
        "columns", "format", "headers", "allowEmpty", "maxDelete", "maxRecord", "maxRejects", "maxBytes",
    ]

    static let valid: [[(String, JSONValue)]] = [
        [],
        [
            ("items", "/data"), ("key", ["/org", "/id"]), ("mode", "replace"), ("merge", "newest"),
            ("version", "/updated_at"),
        ],
        [("items", "/data"), ("deleted", "/deleted"), ("deletedItems", "/removed"), ("conditional", false)],
        [("key", "")],
        [("items", "/data"), ("pages", ["by": "cursor", "cursor": "/next", "parameter": "after", "total": "/total"])],
        [("pages", ["by": "page", "parameter": "page", "sizeParameter": "n", "size": 100, "start": 1])],
        [("items", "/d"), ("since", ["parameter": "since", "from": "token:/token", "overlap": 5, "fullEvery": 3600])],
        [("items", "/d"), ("since", ["from": "token:/deltaLink"])],
        [("since", ["parameter": "since", "from": "header:X-Sync-Token"])],
        [("since", ["parameter": "since", "from": "date"])],
        [("since", ["parameter": "since", "from": "version"]), ("version", "/v")],
        [
            ("columns", ["email": "/email", "Name_2": "/name"]),
            ("headers", ["X-Tag": "a", "Accept": "application/vnd.x+json"]),
        ],
        [("format", "ndjson"), ("pages", ["by": "link"])], [("allowEmpty", true), ("maxDelete", 500)],
        [("maxDelete", "0%")], [("maxDelete", "100%")],
        [("maxRecord", 2048), ("maxRejects", 0), ("maxBytes", 1)], [("url", "file:///srv/list.json")],
        [("collection", .string(String(repeating: "a", count: 64)))], [("collection", "-0")],
    ]

    @Test(arguments: valid.indices)
    func `a payload is written as it was read`(index: Int) throws {
        let payload = try Self.payload(Self.valid[index])
        #expect(try SyncPayload(payload.json) == payload)
        #expect(try SyncPayload(JSONValue(parsing: payload.json.bytes)) == payload)
    }

    static let refused: [([(String, JSONValue)], String)] = [
        ([("url", 1)], "“url” must be a string, not a number"),
        ([("url", "ftp://h/")], "the scheme “ftp” is unknown"),
        ([("url", "https://u:p@h/")], "must not contain a user or password"),
        ([("collection", "Users")], "“collection” is “Users”"),
        ([("collection", "")], "“collection” is “”"), ([("collection", "a_b")], "“collection”"),
        ([("collection", "a/../b")], "“collection”"),
        ([("collection", .string(String(repeating: "a", count: 65)))], "“collection”"),
        ([("collection", "é")], "“collection”"),
        ([("items", "data")], "“items” cannot be used: “data” is not a JSON Pointer"),
        ([("items", 1)], "“items”"),
        ([("key", "id")], "“key”"), ([("key", [])], "a list of 1 to 8 pointers"),
        ([("key", [1])], "which are strings, not a number"), ([("key", nil)], "“key” is a pointer"),
        ([("key", ["/a", "/a"])], "of which one contains the other"),
        ([("key", ["/a", "/a/b"])], "contains the other"), ([("key", ["", "/a"])], "contains the other"),
        ([("mode", "mirror")], "“mode” is “mirror”; it is “upsert” or “replace”"),
        ([("merge", "mine")], "“remote”, “local” or “newest”"),
        ([("merge", "newest")], "needs “version”"),
        ([("since", ["parameter": "s", "from": "version"])], "needs “version”"),
        ([("since", ["from": "date"])], "“parameter” is missing in"),
        ([("since", ["parameter": "s"])], "“from” is missing in the payload of a sync (“since”)"),
        ([("since", ["parameter": "s", "from": "clock"])], "is “clock”"),
        ([("since", ["parameter": "s", "from": "header:a b"])], "names the header"),
        ([("since", ["parameter": "s", "from": "header:"])], "names the header"),
        ([("since", ["parameter": "s", "from": "token:x"])], "is not a JSON Pointer"),
        ([("since", ["parameter": "s", "from": "date", "overlap": -1])], "from 0 to 86400"),
        ([("since", "x")], "(“since”) must be an object"),
        (
            [("since", ["parameter": "s", "from": "date", "every": 1])],
            "unknown key “every” in the payload of a sync (“since”)"
        ),
        ([("conditional", "yes")], "must be true or false"),
        ([("columns", ["a b": "/x"])], "is not the name of a column"), ([("columns", ["1a": "/x"])], "is not the name"),
        ([("columns", ["Body": "/x"])], "is the name of another column"),
        ([("columns", ["a": "/x", "A": "/y"])], "is the name of another column"),
        ([("columns", ["rowid": "/x"])], "is the name of another"), ([("columns", ["a": 1])], "must be a pointer"),
        ([("columns", ["a": "x"])], "is not a JSON Pointer"), ([("columns", [])], "must be an object"),
        ([("format", "csv")], "“json” or “ndjson”"), ([("headers", [])], "“headers” must be an object"),
        ([("headers", ["a": 1])], "must be a string"),
        ([("headers", ["a b": "x"])], "is not a header name"), ([("headers", ["Host": "x"])], "cannot be set"),
        ([("headers", ["A": "x", "a": "y"])], "occurs twice"),
        ([("headers", ["A": "x\ny"])], "line break"), ([("maxDelete", "50")], "“maxDelete”"),
        ([("maxDelete", "101%")], "“maxDelete”"), ([("maxDelete", "%")], "“maxDelete”"),
        ([("maxDelete", -1)], "“maxDelete”"), ([("maxDelete", .number(0.5))], "“maxDelete”"),
        ([("maxDelete", "-1%")], "“maxDelete”"), ([("maxDelete", "1e1%")], "“maxDelete”"),
        ([("maxRecord", 10)], "from 1024 to 67108864"), ([("maxRejects", -1)], "from 0"), ([("maxBytes", 0)], "from 1"),
        ([("maxBytes", .number(1.5))], "must be a whole number"),
        ([("allowEmpty", 1)], "must be true or false"),
        ([("file", "/x")], "unknown key “file” in the payload of a sync; it has “url”, “collection”"),
        // Parts of the body within each other.
        ([("pages", ["by": "cursor", "cursor": "/next", "parameter": "p"])], "lies within"),
        ([("deletedItems", "/gone")], "lies within"),
        ([("items", "/d"), ("deletedItems", "/d")], "lies within"),
        ([("items", "/d"), ("since", ["parameter": "s", "from": "token:/d/t"])], "lies within"),
        ([("items", "/d/x"), ("pages", ["by": "link", "cursor": "/d"])], "lies within"),
        // NDJSON and files have no envelope, no query and no fields.
        ([("format", "ndjson"), ("items", "/d")], "“items” is not valid"),
        ([("format", "ndjson"), ("pages", ["by": "page", "total": "/t"])], "nothing beside the records"),
        ([("url", "file:///x"), ("headers", ["A": "x"])], "“headers” are not valid for a file"),
        ([("url", "file:///x"), ("pages", ["by": "link"])], "“pages” is not valid for a file"),
        ([("url", "file:///x"), ("since", ["parameter": "s", "from": "date"])], "“since” is not valid for a file"),
        ([("pages", ["by": "none", "size": 1])], "belong together"),
    ]

    @Test(arguments: refused.indices)
    func `a payload with an error is refused with a sentence that names the key`(index: Int) throws {
        let (extra, sentence) = Self.refused[index]
        let error = try #require(refusal(extra), "\(extra)")
        #expect(error.message.contains(sentence), "\(error.message)")
    }

    @Test func `url and collection are required, and the payload is an object`() {
        for key in ["url", "collection"] {
            #expect(refusal([], without: key)?.message == "“\(key)” is missing in the payload of a sync")
        }
        for value: JSONValue in [nil, [], "x", 1] {
            #expect(throws: PayloadError.self) { try SyncPayload(value) }
        }
    }

    @Test(arguments: [
        "Range", "If-Range", "Accept-Encoding", "If-None-Match", "if-modified-since", "Cache-Control",
        "Idempotency-Key", "TE",
    ])
    func `headers that a sync sets itself are refused`(name: String) {
        #expect(refusal([("headers", .object([.init(name, "x")]))])?.message.contains("cannot be set") == true)
    }

    @Test func `the identity changes with what the server answers, and not with limits`() throws {
        let fingerprint = try Self.payload().fingerprint
        let same: [[(String, JSONValue)]] = [
            [("maxDelete", 5)], [("allowEmpty", true)], [("maxRejects", 5)], [("maxBytes", 5)],
            [("columns", ["a": "/a"])], [("merge", "local")],
            [("conditional", false)], [("collection", "others")],
        ]
        for extra in same { #expect(try Self.payload(extra).fingerprint == fingerprint, "\(extra)") }
        let other: [[(String, JSONValue)]] = [
            [("url", "https://h.example/users?x")], [("items", "/d")], [("key", "/uuid")], [("mode", "replace")],
            [("format", "ndjson")],
            [("pages", ["by": "link"])], [("since", ["parameter": "s", "from": "date"])], [("headers", ["A": "x"])],
            [("version", "/v")], [("deleted", "/x")],
            [("maxRecord", 2048)],
        ]
        for extra in other { #expect(try Self.payload(extra).fingerprint != fingerprint, "\(extra)") }
        let since: (JSONValue) throws -> String = { try Self.payload([("since", $0)]).fingerprint }
        #expect(
            try since(["parameter": "s", "from": "date", "overlap": 5])
                == since(["parameter": "s", "from": "date", "fullEvery": 9]))
        // Another process finds the same.
        #expect(StableHash.of("a".utf8) == 0xAF63_DC4C_8601_EC8C)
    }

    @Test func `the values of an envelope are told apart whatever the payload asks for`() throws {
        let payload = try Self.payload([
            ("items", "/d"), ("pages", ["by": "page", "total": "/n"]),
            ("since", ["parameter": "s", "from": "token:/t"]),
        ])
        #expect(payload.scanPlan.values.map(\.text) == ["/n", "/t"])
        let values = payload.values(of: Envelope(values: [.number("1"), .text("x")]), items: 1)
        #expect(values.cursor == .missing && values.total == .number("1") && values.token == .text("x"))
    }

    @Test func `random payloads are refused or read, and never trap`() throws {
        var random = SeededRandom.announced("sync payload fuzz")
        for _ in RandomRounds("sync payload fuzz", 500...5000) {
            var members = Self.base
            for _ in 0..<random.number(in: 0..<5) {
                let key = Self.keys[random.number(in: 0..<Self.keys.count)]
                let (valid, _) = Self.refused[random.number(in: 0..<Self.refused.count)]
                let value = random.chance(0.5) ? RandomJSON.value(depth: 2, &random) : valid[0].1
                members.removeAll { $0.name == key }
                members.append(.init(key, value))
            }
            if let payload = try? SyncPayload(.object(members)) { #expect(try SyncPayload(payload.json) == payload) }
        }
    }
}
