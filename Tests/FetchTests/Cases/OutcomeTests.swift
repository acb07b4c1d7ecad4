import Commands
import Testing

@testable import Fetch
@testable import Transfers

@Suite struct OutcomeTests {
    private let rules = CacheRules()
    private let later = Exchanges.now + .seconds(100)
    private let stored = Exchanges.stored([
        ("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ("Content-Length", "4"), ("Content-Encoding", "x"),
        ("X-Old", "1"), ("X-Both", "1"), ("X-Both", "2"), ("Age", "7"), ("Date", "@-5"),
    ])

    private func outcome(
        _ status: Int, _ fields: [(String, String)] = [], stored: StoredResponse?, conditional: Bool = true,
        body: String = "new"
    ) -> FetchOutcome {
        let question = conditional ? ConditionalRequest(validating: stored ?? self.stored, mode: .both) : .unconditional
        let exchange = Exchanges.exchange(status, fields, asked: question, at: later, body: body)
        return rules.outcome(of: exchange, for: Exchanges.request, stored: stored, now: later)
    }

    private func written(_ outcome: FetchOutcome) -> StoredResponse? {
        if case .answered(_, .write(let row, _)) = outcome { row } else { nil }
    }

    // MARK: 304

    @Test func `a 304 updates the stored headers, except for those that describe the body`() throws {
        let fields = [
            ("Cache-Control", "max-age=90"), ("X-Both", "3"), ("X-New", "1"), ("Content-Length", "0"),
            ("Content-Encoding", "y"), ("Content-Range", "z"), ("Connection", "X-Hop"), ("X-Hop", "1"),
            ("Keep-Alive", "1"), ("Content-Type", "text/css"),
        ]
        let row = try #require(written(outcome(304, fields, stored: stored)))
        let values = [
            "Cache-Control", "X-Old", "X-Both", "X-New", "Content-Length", "Content-Encoding", "Content-Type",
        ]
        .map { row.headers.values($0) }
        #expect(values == [["max-age=90"], ["1"], ["3"], ["1"], ["4"], ["x"], ["text/css"]])
        for name in ["Content-Range", "Connection", "X-Hop", "Keep-Alive", "Age"] {
            #expect(!row.headers.contains(name), "\(name)")
        }
        #expect(row.validatedAt == later && row.respondedAt == Exchanges.now && row.ageAtReceipt == .zero)
        #expect(row.freshUntil == later + .seconds(90) && row.sha256 == stored.sha256 && row.bytes == stored.bytes)
    }

    @Test func `a 304 without a date does not reckon Expires from the stored date`() throws {
        let old = Exchanges.stored([("Expires", "@-5"), ("Date", "@-10"), ("ETag", "\"a\"")])
        let row = try #require(written(outcome(304, [("Expires", "@160")], stored: old)))
        #expect(row.freshUntil == later + .seconds(60))
    }

    @Test func `a 304 changes Vary, and the key with it`() throws {
        let result = outcome(304, [("Vary", "Foo")], stored: stored)
        #expect(written(result)?.key.vary == #"{"foo":null}"#)
        guard case .answered(let answer, .write(_, let replaced)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(replaced == stored.key && answer.source == .notModified && !answer.changed && !answer.isStale)
    }

    @Test func `a 304 clears an invalidation`() {
        let result = outcome(304, stored: stored.invalidated(at: Exchanges.now))
        #expect(written(result)?.flags == [] && written(result)?.isFresh(at: later) == true)
    }

    @Test func `a 304 with no-store removes the row and shows nothing`() {
        let result = outcome(304, [("Cache-Control", "no-store")], stored: stored)
        guard case .answered(let answer, .remove(stored.key)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(answer.isWithheld && answer.sha256 == "")
    }

    @Test func `a 304 that makes a response private removes it from a shared cache`() {
        let exchange = Exchanges.exchange(
            304, [("Cache-Control", "private")], asked: ConditionalRequest(validating: stored, mode: .both), at: later)
        let result = CacheRules(isShared: true).outcome(
            of: exchange, for: Exchanges.request, stored: stored, now: later)
        guard case .answered(let answer, .remove(stored.key)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(!answer.isWithheld && answer.sha256 == stored.sha256)
    }

    @Test(
        arguments: [
            ("\"a\"", "\"a\"", true), ("\"a\"", "W/\"a\"", true), ("W/\"a\"", "\"a\"", true), ("\"a\"", "\"b\"", false),
            ("W/\"a\"", "W/\"b\"", false), ("\"a\"", nil, true), (nil, "\"b\"", false),
            (nil, "W/\"b\"", true), (nil, nil, true), ("a", "a", true), ("a", "\"a\"", false),
        ] as [(String?, String?, Bool)])
    func `a 304 must name the stored tag, or none`(_ ours: String?, _ theirs: String?, _ fits: Bool) {
        var fields = [("Last-Modified", "@-1000")]
        if let ours { fields.append(("ETag", ours)) }
        let result = outcome(304, theirs.map { [("ETag", $0)] } ?? [], stored: Exchanges.stored(fields))
        #expect((result == .askAgain(.unconditional)) == !fits)
        #expect((written(result) != nil) == fits)
    }

    @Test func `a 304 without a row is asked again once`() {
        #expect(outcome(304, stored: nil) == .askAgain(.unconditional))
        #expect(outcome(304, stored: nil, conditional: false) == .refused(.unexpectedNotModified, .none))
        #expect(outcome(304, stored: stored, conditional: false) == .refused(.unexpectedNotModified, .none))
    }

    // MARK: Other responses

    @Test func `a new response takes the place of the stored one, and says whether it changed`() {
        for (body, changed) in [("new", true), ("body", false)] {
            guard case .answered(let answer, .write(let row, nil)) = outcome(200, stored: stored, body: body) else {
                Issue.record("not stored")
                return
            }
            #expect(answer.changed == changed && answer.source == .network && row.key == stored.key)
        }
        guard case .answered(let first, _) = outcome(200, stored: nil, body: "body") else {
            Issue.record("not stored")
            return
        }
        #expect(first.changed)
    }

    @Test(arguments: [404, 410]) func `a gone resource takes the place of a good one`(_ status: Int) {
        #expect(written(outcome(status, stored: stored))?.status == status)
        let result = outcome(status, [("Cache-Control", "no-store")], stored: stored)
        guard case .answered(_, .remove(stored.key)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(written(outcome(status, stored: nil))?.status == status)
    }

    @Test(arguments: [400, 401, 403, 405, 414, 429, 501, 505]) func `another error never replaces a good response`(
        _ status: Int
    ) {
        let fields = [("Cache-Control", "max-age=60")]
        guard case .answered(let answer, .none) = outcome(status, fields, stored: stored) else {
            Issue.record("the store was changed")
            return
        }
        #expect(answer.status == status && answer.source == .network)
        let isStorable = status != 429
        #expect((written(outcome(status, fields, stored: nil)) != nil) == isStorable)
        let bad = Exchanges.stored(fields, status: 403)
        #expect((written(outcome(status, fields, stored: bad)) != nil) == isStorable)
    }

    @Test func `an error that a stored error cannot replace is the answer itself`() {
        let bad = Exchanges.stored([("Cache-Control", "max-age=1, stale-if-error=1000")], status: 500)
        guard case .answered(let answer, _) = outcome(503, stored: bad) else {
            Issue.record("not answered")
            return
        }
        #expect(answer.status == 503)
    }

    @Test func `a response that must not be stored leaves the stored one`() {
        for (status, fields) in [(200, [("Cache-Control", "no-store")]), (206, []), (202, [])] {
            guard case .answered(_, .none) = outcome(status, fields, stored: stored) else {
                Issue.record("\(status) changed the store")
                return
            }
        }
    }

    @Test func `a new response that varies otherwise replaces the row that answered before`() {
        let result = outcome(200, [("Vary", "Foo")], stored: stored)
        guard case .answered(_, .write(let row, let replaced)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(row.key.vary == #"{"foo":null}"# && replaced == stored.key)
    }
}
