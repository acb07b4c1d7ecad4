import Commands
import Testing

@testable import Sync
@testable import Transfers

/// The deltas of operations.md, section 5.2.
@Suite struct SinceRulesTests {
    private static let noon = Timestamp(rfc3339: "2026-03-01T12:00:00Z") ?? .zero
    private static let date = "Sun, 01 Mar 2026 12:00:00 GMT"

    private func payload(_ since: JSONValue, url: String = "https://h.example/users?x=1") throws -> SyncPayload {
        try SyncPayloadTests.payload([("url", .string(url)), ("items", "/d"), ("version", "/v"), ("since", since)])
    }

    private func rule(_ from: String) throws -> SinceRule {
        try SinceRule(["parameter": "since", "from": .string(from)])
    }

    private func version(_ text: String) -> RecordVersion? { RecordVersion(stored: text) }

    // MARK: Full or delta

    @Test func `changes are asked for with a token, and the whole list every 7 days`() throws {
        let rule = try rule("date")
        func read(_ token: String?, lastFull: Duration?, _ rule: SinceRule?) -> SyncRead {
            let state = SyncState(token: token, lastFull: lastFull.map { Self.noon + (.zero - $0) })
            return SinceRules.read(rule, state, now: Self.noon)
        }
        #expect(read("t", lastFull: .seconds(60), rule) == .delta(token: "t"))
        #expect(read("t", lastFull: .seconds(604_799), rule) == .delta(token: "t"))
        #expect(read("t", lastFull: .seconds(604_800), rule) == .full)
        #expect(read(nil, lastFull: .seconds(60), rule) == .full)
        #expect(read("t", lastFull: nil, rule) == .full)
        #expect(read("t", lastFull: .seconds(60), nil) == .full)
        // The clock was set back, so the age is unknown.
        #expect(read("t", lastFull: .seconds(-5), rule) == .full)
        let never = try SinceRule(["parameter": "since", "from": "date", "fullEvery": 0])
        #expect(read("t", lastFull: .seconds(10_000_000), never) == .delta(token: "t"))
    }

    // MARK: The URL

    static let urls: [(JSONValue, String, String)] = [
        (["parameter": "since", "from": "token:/t"], "a b+c", "x=1&since=a%20b%2Bc"),
        (["parameter": "since", "from": "token:/t"], "2026-03-01T12:00:00Z", "x=1&since=2026-03-01T12%3A00%3A00Z"),
        (["parameter": "x", "from": "header:X-T"], "tok", "x=tok"),
        (["parameter": "since", "from": "header:X-T"], "2026-03-01T12:00:00Z", "x=1&since=2026-03-01T11%3A59%3A00Z"),
        (["parameter": "since", "from": "date"], "2026-03-01T12:00:00Z", "x=1&since=2026-03-01T11%3A59%3A00Z"),
        (
            ["parameter": "since", "from": "date", "overlap": 0], "2026-03-01T12:00:00Z",
            "x=1&since=2026-03-01T12%3A00%3A00Z"
        ),
        (["parameter": "since", "from": "version"], "2026-03-01T12:00:00.750Z", "x=1&since=2026-03-01T11%3A59%3A00Z"),
        (["parameter": "since", "from": "version"], "1772366400", "x=1&since=1772366340"),
        (["parameter": "since", "from": "version"], "1772366400123", "x=1&since=1772366340123"),
        (["parameter": "since", "from": "version"], "42", "x=1&since=42"),
        (["parameter": "since", "from": "version"], "1e400", "x=1&since=1e400"),
    ]

    @Test(arguments: urls.indices)
    func `the token, or the time before the overlap, is the value of the parameter`(index: Int) throws {
        let (since, token, query) = Self.urls[index]
        let payload = try payload(since)
        #expect(try SinceRules.url(payload, .delta(token: token)).text == "https://h.example/users?\(query)")
        #expect(try SinceRules.url(payload, .full) == payload.url)
    }

    @Test func `a token without a parameter is the URL of the delta, at the same origin`() throws {
        let payload = try payload(["from": "token:/t"])
        #expect(try SinceRules.url(payload, .delta(token: "/delta?t=1")).text == "https://h.example/delta?t=1")
        #expect(try SinceRules.url(payload, .delta(token: "https://h.example/delta")).text == "https://h.example/delta")
        for token in ["https://other.example/delta", "http://h.example/delta", "ftp://h/", "//evil/"] {
            let failure = #expect(throws: CommandFailure.self) { try SinceRules.url(payload, .delta(token: token)) }
            #expect(failure?.fault == .final && failure?.reason.contains("“parameter”") == true)
        }
        let long = String(repeating: "x", count: 9000)
        #expect(throws: CommandFailure.self) {
            try SinceRules.url(try self.payload(["parameter": "s", "from": "token:/t"]), .delta(token: long))
        }
    }

    // MARK: The next token

    struct Page {
        var date: String? = SinceRulesTests.date
        var header: String?
        var value = EnvelopeValue.missing
        var versions: [String] = []
    }

    struct Case {
        var from: String
        var pages: [Page]
        var read = SyncRead.full
        var end = PagingEnd.complete
        var token: String?
    }

    static let later = "Sun, 01 Mar 2026 12:05:00 GMT"

    static let tokens: [Case] = [
        // A token of the body: the last page has it, or the last one of several.
        Case(from: "token:/t", pages: [Page(), Page(value: .text("a"))], token: "a"),
        Case(
            from: "token:/t", pages: [Page(value: .text("a")), Page(value: .number("12345678901234567890")), Page()],
            token: "12345678901234567890"),
        Case(
            from: "token:/t",
            pages: [Page(value: .null), Page(value: .text("")), Page(value: .bool(true)), Page(value: .tooLong)],
            token: nil),
        Case(from: "token:/t", pages: [Page()], read: .delta(token: "old"), token: "old"),
        // A header: the last of several tokens, the first of several times.
        Case(from: "header:X-T", pages: [Page(header: "a"), Page(header: "b"), Page()], token: "b"),
        Case(from: "header:X-T", pages: [Page(header: date), Page(header: later)], token: "2026-03-01T12:00:00Z"),
        Case(
            from: "header:X-T", pages: [Page(header: "2026-03-01T12:00:00.9+00:00"), Page(header: later)],
            token: "2026-03-01T12:00:00Z"),
        Case(from: "header:X-T", pages: [Page(header: "")], read: .delta(token: "old"), token: "old"),
        // The Date of the first page, and never this host's clock.
        Case(from: "date", pages: [Page(), Page(date: later)], token: "2026-03-01T12:00:00Z"),
        Case(from: "date", pages: [Page(date: nil), Page(date: later)], token: nil),
        Case(from: "date", pages: [Page(date: "yesterday")], read: .delta(token: "old"), token: "old"),
        // The greatest version.
        Case(from: "version", pages: [Page(versions: ["3", "1e1", "9.5"]), Page(versions: ["7"])], token: "1e1"),
        Case(
            from: "version",
            pages: [Page(versions: ["2026-03-01T10:00:00Z", "2026-03-01T11:59:59.5Z", "2026-03-01T11:00:00Z"])],
            token: "2026-03-01T11:59:59.500Z"),
        Case(from: "version", pages: [Page()], token: nil),
        Case(from: "version", pages: [Page()], read: .delta(token: "5"), token: "5"),
        // A version beyond the start of the sync is capped.
        Case(from: "version", pages: [Page(versions: ["2026-03-01T12:00:01Z"])], token: "2026-03-01T12:00:00.000Z"),
        Case(from: "version", pages: [Page(versions: ["2999-01-01T00:00:00Z"])], token: "2026-03-01T12:00:00.000Z"),
        Case(from: "version", pages: [Page(versions: ["1772366401"])], token: "1772366400"),
        Case(from: "version", pages: [Page(versions: ["1772366400001"])], token: "1772366400000"),
        Case(from: "version", pages: [Page(versions: ["9999999999999999"])], token: "9999999999999999"),
        // Without the server's clock a time cannot be judged.
        Case(from: "version", pages: [Page(date: nil, versions: ["2026-03-01T10:00:00Z"])], token: nil),
        Case(from: "version", pages: [Page(date: nil, versions: ["42"])], token: "42"),
        // A delta never goes back.
        Case(from: "version", pages: [Page(versions: ["4"])], read: .delta(token: "5"), token: "5"),
        Case(from: "version", pages: [Page(versions: ["6"])], read: .delta(token: "5"), token: "6"),
        // Nothing is stored unless every page came.
        Case(from: "token:/t", pages: [Page(value: .text("a"))], end: .partial(because: "x"), token: nil),
        Case(from: "date", pages: [Page()], read: .delta(token: "old"), end: .partial(because: "x"), token: "old"),
    ]

    @Test(arguments: tokens.indices)
    func `the next token comes from the server`(index: Int) throws {
        let example = Self.tokens[index]
        let rule = try rule(example.from)
        var progress = SinceProgress()
        for (index, page) in example.pages.enumerated() {
            progress.page(
                number: Int64(index) + 1, date: page.date, header: page.header, value: page.value, rule: rule,
                now: Self.noon + .seconds(1000))
            for version in page.versions { progress.record(self.version(version)) }
        }
        #expect(progress.token(rule, after: example.end, of: example.read) == example.token)
        // Without the rule there is none.
        if example.read == .full { #expect(progress.token(nil, after: .complete, of: .full) == nil) }
    }

    @Test func `the difference of the clocks comes from the first page`() throws {
        var progress = SinceProgress()
        progress.page(
            number: 1, date: Self.date, header: nil, value: .missing, rule: nil, now: Self.noon + .seconds(90))
        progress.page(number: 2, date: Self.later, header: nil, value: .missing, rule: nil, now: Self.noon)
        #expect(progress.clockOffset == .seconds(-90) && progress.firstDate == Self.noon)
    }

    // MARK: Refusal

    static let refusals: [(Int, String, SyncRead, Bool)] = [
        (410, "", .delta(token: "abc"), true),
        (400, #"{"error":"parameter Since is too old"}"#, .delta(token: "abc"), true),
        (400, #"{"error":"invalid cursor ABC"}"#, .delta(token: "abc"), true),
        (400, #"{"error":"bad sync token"}"#, .delta(token: "abc"), true),
        (400, #"{"error":"limit must be positive"}"#, .delta(token: "abc"), false),
        (400, "", .delta(token: "abc"), false),
        (409, #"[{"headers":{"control":"must-refetch"}}]"#, .delta(token: "abc"), true),
        (409, "conflict", .delta(token: "abc"), false),
        (404, "since", .delta(token: "abc"), false), (422, "since", .delta(token: "abc"), false),
        (500, "since", .delta(token: "abc"), false),
        (200, "since", .delta(token: "abc"), false), (410, "", .full, false), (400, "since", .full, false),
        (409, "must-refetch", .full, false),
    ]

    @Test(arguments: refusals.indices)
    func `a refused token leads to one full read`(index: Int) throws {
        let (status, body, read, isRefused) = Self.refusals[index]
        let rule = try rule("token:/t")
        #expect(SinceRules.isRefusal(status: status, start: body.utf8, read, rule) == isRefused)
        #expect(!SinceRules.isRefusal(status: status, start: body.utf8, read, nil))
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (1_772_366_400_999, "2026-03-01T12:00:00Z"),
        (Int64.min, "0000-01-01T00:00:00Z"),
    ])
    func `a time is written in whole seconds, and never later`(milliseconds: Int64, text: String) {
        #expect(SinceRules.text(Timestamp(milliseconds: milliseconds)) == text)
    }
}
