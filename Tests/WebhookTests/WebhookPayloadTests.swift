import Commands
import Operations
import Testing

@testable import Webhook

@Suite struct WebhookPayloadTests {
    private let command = CommandID(high: 0x0199_8b5e_7c1a_7d2e, low: 0x9f00_3b6a_1c2d_4e5f)
    private let now = Timestamp(milliseconds: 1_763_000_000_123)

    static let least: [JSONValue.Member] = [.init("url", "https://example.com/hooks")]

    private func payload(_ members: [JSONValue.Member]) throws -> WebhookPayload {
        try WebhookPayload(.object(Self.least + members))
    }

    private func body(_ members: [JSONValue.Member]) throws -> String {
        let prepared = try payload(members).prepared(for: command, now: now)
        return String(decoding: try #require(prepared.body), as: UTF8.self)
    }

    @Test func `an event becomes a minified body with the fields of the specification`() throws {
        let members: [JSONValue.Member] = [
            .init("type", "upload.done"), .init("time", "2025-11-13T02:13:20Z"), .init("data", ["id": "a"]),
        ]
        #expect(
            try body(members)
                == "{\"type\":\"upload.done\",\"timestamp\":\"2025-11-13T02:13:20Z\",\"data\":{\"id\":\"a\"}}")
    }

    @Test(
        arguments: [
            (nil, "2025-11-13T02:13:20.123Z"), ("2025-11-13T03:13:20+01:00", "2025-11-13T03:13:20+01:00"),
            (1_763_000_000_000, "2025-11-13T02:13:20.000Z"),
        ] as [(JSONValue?, String)])
    func `the time of the event is kept as it was given, or is that of the submit`(_ time: JSONValue?, _ text: String)
        throws
    {
        let members = [JSONValue.Member("type", "a")] + (time.map { [JSONValue.Member("time", $0)] } ?? [])
        #expect(try body(members) == "{\"type\":\"a\",\"timestamp\":\"\(text)\",\"data\":null}")
    }

    @Test func `a body is sent as it is, also one that is not JSON`() throws {
        for text in ["", " {\"a\" : 1.0}\n", "é\u{0}😀"] {
            #expect(try body([.init("body", .string(text))]) == text)
        }
    }

    @Test func `a prepared payload keeps the bytes and the id of every attempt`() throws {
        let given = try payload([.init("type", "a.b"), .init("data", ["é", 1, nil]), .init("endpoint", "billing")])
        let prepared = try given.prepared(for: command, now: now)
        #expect(prepared.id == "msg_01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f")
        let stored = try WebhookPayload(try JSONValue(parsing: prepared.json.bytes))
        #expect(stored == prepared && stored.body == prepared.body && stored.endpoint == "billing")
        // A later preparation, with another clock, changes nothing.
        #expect(try stored.prepared(for: CommandID(high: 1, low: 2), now: .zero) == stored)
        #expect(given.body == nil && given.isIdempotent)
    }

    @Test func `two submits of one event are equal, whatever their ids and times`() throws {
        let given = try payload([.init("type", "a"), .init("data", 1)])
        #expect(given.identity == (try payload([.init("type", "a"), .init("data", 1)])).identity)
        #expect(given.identity["id"] == nil && given.identity["time"] == nil)
        #expect(try WebhookPayload(given.json) == given)
    }

    @Test(
        arguments: [
            ([], "needs “type”"), ([.init("data", 1)], "needs “type”"), ([.init("type", "a b")], "“type” is “a b”"),
            ([.init("type", "")], "“type”"), ([.init("type", "a-b")], "“type” is “a-b”"),
            ([.init("type", "é")], "“type”"),
            ([.init("type", .string(String(repeating: "a", count: 257)))], "“type”"),
            ([.init("type", 5)], "must be a string"), ([.init("type", "a"), .init("body", "b")], "leave out “type”"),
            ([.init("data", 1), .init("body", "b")], "leave out"),
            ([.init("time", 1), .init("body", "b")], "leave out"),
            ([.init("body", ["a": 1])], "“body” must be a string"),
            ([.init("type", "a"), .init("id", "a.b")], "without a dot"),
            ([.init("type", "a"), .init("id", "a\nb")], "“id”"), ([.init("type", "a"), .init("id", "")], "“id”"),
            ([.init("type", "a"), .init("id", .string(String(repeating: "a", count: 129)))], "“id”"),
            ([.init("type", "a"), .init("endpoint", "a/b")], "“endpoint”"),
            ([.init("type", "a"), .init("time", "yesterday")], "RFC 3339"),
            ([.init("type", "a"), .init("time", .number(1.5))], "RFC 3339"),
            ([.init("type", "a"), .init("time", true)], "RFC 3339"),
            ([.init("type", "a"), .init("colour", 1)], "unknown key “colour”"),
            ([.init("body", .string(String(repeating: "a", count: 262_145)))], "the maximum is 262144"),
            (
                [.init("type", "a"), .init("data", .string(String(repeating: "a", count: 262_144)))],
                "the maximum is 262144"
            ),
        ] as [([JSONValue.Member], String)])
    func `a payload with an error is refused with the key in the sentence`(
        _ members: [JSONValue.Member], _ words: String
    ) throws {
        let error = try #require(throws: PayloadError.self) { try payload(members) }
        #expect(error.message.contains(words), "\(error.message.prefix(200))")
    }

    @Test func `a body of exactly 256 KiB is accepted, and so are numbers of any size`() throws {
        _ = try payload([.init("body", .string(String(repeating: "a", count: 262_144)))])
        let data: JSONValue = [
            .integer(.max), .integer(.min), .number(0.1), .number(-1.5e10), .decimal("18446744073709551614"),
        ]
        #expect(
            try body([.init("type", "a"), .init("time", 0), .init("data", data)]).hasSuffix(
                "\"data\":[9223372036854775807,-9223372036854775808,0.1,-15000000000.0,18446744073709551614]}"))
    }

    @Test func `an event that is checked stays within the limit when it is prepared later`() throws {
        // The text of the longest accepted data, without a time.
        let shell = "{\"type\":\"a\",\"timestamp\":\"2025-11-13T02:13:20.123Z\",\"data\":\"\"}".utf8.count
        let data = String(repeating: "a", count: 262_144 - shell)
        #expect(try body([.init("type", "a"), .init("data", .string(data))]).utf8.count == 262_144)
    }

    @Test(arguments: ["file:///a", "ftp://h/a", "h/a", "https://me:secret@h/a", "https://"])
    func `a URL that is not http or https is refused`(_ url: String) {
        #expect(throws: PayloadError.self) { try WebhookPayload(["url": .string(url), "type": "a"]) }
    }

    @Test func `a payload without a URL, and one that is not an object, is refused`() {
        #expect(throws: PayloadError.self) { try WebhookPayload(["type": "a"]) }
        #expect(throws: PayloadError.self) { try WebhookPayload("a") }
    }

    @Test func `http is refused unless it is allowed, and the query is not quoted`() throws {
        let plain = try WebhookPayload(["url": "http://h/a?token=hush", "type": "a"])
        let objection = try #require(plain.objection(allowsPlain: false))
        #expect(objection.contains("http://h/a") && !objection.contains("hush"))
        #expect(plain.objection(allowsPlain: true) == nil)
        #expect(try payload([.init("type", "a")]).objection(allowsPlain: false) == nil)
    }
}
