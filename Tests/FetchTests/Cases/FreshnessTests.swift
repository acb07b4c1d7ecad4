import Commands
import Testing

@testable import Fetch
@testable import Transfers

@Suite struct FreshnessTests {
    private static let now = Exchanges.now

    private func freshness(_ fields: [(String, String)], status: Int = 200, shared: Bool = false) -> Freshness {
        let head = Exchanges.exchange(status, fields).head
        let date = head.headers.first("date").flatMap(HTTPDate.timestamp) ?? Self.now
        return Freshness(of: head, CacheControl(head.headers), date: date, isShared: shared)
    }

    @Test(
        arguments: [
            // The order of the statements.
            ([("Cache-Control", "s-maxage=9, max-age=5"), ("Expires", "@7")], false, 5, Freshness.Basis.maxAge),
            ([("Cache-Control", "s-maxage=9, max-age=5"), ("Expires", "@7")], true, 9, .sharedMaxAge),
            ([("Expires", "@7"), ("Last-Modified", "@-1000")], false, 7, .expires),
            ([("Last-Modified", "@-1000")], false, 100, .heuristic), ([], false, 0, .none),
            // The clock of the origin does not matter.
            ([("Date", "@-3600"), ("Expires", "@-3540")], false, 60, .expires),
            ([("Date", "@3600"), ("Last-Modified", "@3590")], false, 1, .heuristic),
            ([("Date", "foo"), ("Expires", "@7")], false, 7, .expires),
            // The heuristic ends at 24 h, and does not look into the future.
            ([("Last-Modified", "@-86400000")], false, 86_400, .heuristic),
            ([("Last-Modified", "@5")], false, 0, .none),
            ([("Last-Modified", "yesterday")], false, 0, .none),
            // Two values, and invalid ones.
            ([("Expires", "@7"), ("Expires", "@9")], false, 7, .expires), ([("Expires", "0")], false, 0, .expires),
            ([("Expires", "0"), ("Last-Modified", "@-1000")], false, 0, .expires),
            ([("Expires", "@-7")], false, 0, .expires),
            ([("Cache-Control", "max-age=x"), ("Expires", "@7")], false, 0, .maxAge),
            ([("Cache-Control", "max-age=x"), ("Last-Modified", "@-1000")], false, 0, .maxAge),
            ([("Cache-Control", "s-maxage=x, max-age=5")], true, 0, .sharedMaxAge),
        ] as [([(String, String)], Bool, Int64, Freshness.Basis)])
    func `the lifetime comes from the first statement`(
        _ fields: [(String, String)], _ isShared: Bool, _ seconds: Int64, _ basis: Freshness.Basis
    ) {
        let freshness = freshness(fields, shared: isShared)
        #expect(freshness.lifetime == .seconds(seconds) && freshness.basis == basis)
    }

    @Test(arguments: [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]) func `these statuses have a guess`(
        _ status: Int
    ) {
        #expect(freshness([("Last-Modified", "@-1000")], status: status).basis == .heuristic)
    }

    @Test(arguments: [201, 302, 307, 400, 403, 500, 503]) func `other statuses have one with public`(_ status: Int) {
        #expect(freshness([("Last-Modified", "@-1000")], status: status).basis == .none)
        #expect(
            freshness([("Last-Modified", "@-1000"), ("Cache-Control", "public")], status: status).basis == .heuristic)
    }

    @Test(arguments: [
        ("100", 100), ("100, 5", 100), (" 100 ", 100), ("abc", 0), ("-5", 0), ("1.5", 0), ("100;x=1", 0), ("", 0),
        ("99999999999999999999", 2_147_483_648), ("abc, 5", 0),
    ])
    func `Age counts by its first member`(_ value: String, _ seconds: Int64) {
        let age = Freshness.age(
            of: HeaderFields([HTTPField("Age", value), HTTPField("Age", "7")]), requestedAt: Self.now,
            respondedAt: Self.now)
        #expect(age == .seconds(seconds))
    }

    @Test func `the time of the request counts, and a clock that was set back during it does not`() {
        let headers = HeaderFields([HTTPField("Age", "10")])
        let later = Self.now + .seconds(4)
        #expect(Freshness.age(of: headers, requestedAt: Self.now, respondedAt: later) == .seconds(14))
        #expect(Freshness.age(of: headers, requestedAt: later, respondedAt: Self.now) == .seconds(10))
    }

    @Test func `the age grows in the store, and a Date of an hour ago does not make it greater`() {
        let stored = Exchanges.stored([("Cache-Control", "max-age=60"), ("Age", "10"), ("Date", "@-3600")])
        #expect(stored.age(at: Self.now + .seconds(5)) == .seconds(15))
        #expect(stored.freshFor(at: Self.now) == .seconds(50))
        #expect(stored.isFresh(at: Self.now + .milliseconds(49_999)) && !stored.isFresh(at: Self.now + .seconds(50)))
        #expect(stored.staleness(at: Self.now + .seconds(53)) == .seconds(3))
    }

    @Test func `a clock that was set back makes the age unknown, and the response stale`() {
        let stored = Exchanges.stored([("Cache-Control", "max-age=60, stale-while-revalidate=60")])
        let earlier = Self.now + .milliseconds(-1)
        #expect(stored.age(at: earlier) == nil && !stored.isFresh(at: earlier) && stored.staleness(at: earlier) == nil)
        let decision = CacheRules().decision(for: Exchanges.request, stored: stored, now: earlier)
        #expect(
            decision == .ask(.unconditional, first: StoredAnswer(response: stored, staleBecause: .asking)))
        #expect(FetchResult(StoredAnswer(response: stored), now: earlier).members[2] == .init("age", .null))
    }

    @Test func `extreme times do not overflow`() {
        let fields = [("Cache-Control", "max-age=2147483648, stale-if-error=2147483648"), ("Age", "2147483648")]
        for time in [Timestamp(milliseconds: .max), Timestamp(milliseconds: .min), .zero] {
            let stored = Exchanges.stored(fields, at: time)
            for now in [Timestamp(milliseconds: .max), Timestamp(milliseconds: .min), .zero] {
                _ = CacheRules().decision(for: Exchanges.request, stored: stored, now: now)
                _ = FetchResult(StoredAnswer(response: stored), now: now).members
            }
        }
    }
}
