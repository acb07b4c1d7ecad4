import Commands
import Testing

@testable import Fetch
@testable import TestSupport
@testable import Transfers

/// The eighteen cases of operations.md, section 4.4, of which hishel keeps 12, requests-cache 9 and
/// CacheControl 8.
@Suite struct EighteenCasesTests {
    private let cache = SimulatedCache()
    private let url = "http://origin.test/a"

    private func fetch(_ headers: [(String, String)] = [], mode: FetchNetworkUse = .both) -> SimulatedCache.Transcript {
        let headers = HeaderFields(headers.map(HTTPField.init))
        return cache.fetch(
            FetchRequest(url: url, partition: CachePartition.text(headers: headers), headers: headers, mode: mode))
    }

    /// Stores an answer with these headers.
    private func store(_ headers: (String, String)...) {
        cache.origin.on(.reply(200, headers, body: "old"))
        #expect(fetch().body == "old")
    }

    private var requests: Int { cache.origin.requests.count }

    @Test func `1 a fresh response is used again`() {
        store(("Cache-Control", "max-age=60"))
        cache.wait(.seconds(59))
        #expect(fetch().answer?.source == .stored)
        #expect(requests == 1)
        cache.wait(.seconds(1))
        #expect(fetch().answer?.source == .network)
    }

    @Test func `2 a response with no-store is not stored, and its result has only a status`() {
        cache.origin.on(.reply(200, [("Cache-Control", "no-store, max-age=60"), ("ETag", "\"a\"")]))
        let answer = fetch().answer
        #expect(answer?.isWithheld == true && answer?.headers == HeaderFields() && answer?.sha256 == "")
        #expect(answer?.members.map(\.name) == ["source", "status"])
        #expect(cache.rows.isEmpty)
    }

    @Test func `3 a response with Vary star is asked about each time, and shown offline`() {
        store(("Cache-Control", "max-age=60"), ("Vary", "*"))
        let second = fetch()
        #expect(second.first == nil && second.answer?.source == .network)
        cache.origin.script = []
        let third = fetch()
        #expect(third.body == "old" && third.answer?.staleBecause == .offline)
    }

    @Test func `4 a truncated body is not stored`() {
        cache.origin.on(.cut([("Cache-Control", "max-age=60")]))
        #expect(fetch().refusal == .nothingStored)
        #expect(cache.rows.isEmpty)
    }

    @Test func `5 a 304 renews the freshness`() {
        store(("Cache-Control", "max-age=60"), ("ETag", "\"a\""))
        cache.wait(.seconds(61))
        cache.origin.on(.reply(304, [("Cache-Control", "max-age=100"), ("ETag", "\"a\"")]))
        let second = fetch()
        #expect(second.first?.staleBecause == .asking)
        #expect(second.answer?.source == .notModified && second.body == "old")
        #expect(second.answer?.freshFor == .seconds(100))
        cache.wait(.seconds(99))
        #expect(fetch().answer?.source == .stored)
        #expect(requests == 2)
    }

    @Test func `6 each language is stored, and read again`() {
        cache.origin.script = [
            { request, _ in
                let language = request.headers.first("accept-language") ?? ""
                return .reply(
                    200, [("Cache-Control", "max-age=60"), ("Vary", "Accept-Language")], body: "in \(language)")
            }
        ]
        for (language, count) in [("en", 1), ("fr", 2), ("en", 2), ("fr", 2)] {
            #expect(fetch([("Accept-Language", language)]).body == "in \(language)")
            #expect(requests == count)
        }
    }

    @Test func `7 a response that arrives older than its lifetime is stale`() {
        store(("Cache-Control", "max-age=60"), ("Age", "100"))
        let second = fetch()
        #expect(second.first?.age == .seconds(100) && second.first?.isStale == true)
        #expect(second.answer?.source == .network)
    }

    @Test func `8 user B never reads the body of user A`() {
        cache.origin.script = [
            { request, _ in
                .reply(
                    200, [("Cache-Control", "max-age=60")], body: "for \(request.headers.first("authorization") ?? "")")
            }
        ]
        for (user, count) in [("A", 1), ("B", 2), ("A", 2), ("B", 2)] {
            #expect(fetch([("Authorization", user)]).body == "for \(user)")
            #expect(requests == count)
        }
    }

    @Test func `9 a POST makes the stored response stale`() throws {
        store(("Cache-Control", "max-age=60"))
        cache.origin.on(.reply(201), .reply(200, [], body: "new"))
        try cache.send("POST", url)
        let second = fetch()
        #expect(second.first == nil && second.body == "new")
    }

    @Test func `10 stale-while-revalidate answers at once and refreshes later`() {
        store(("Cache-Control", "max-age=60, stale-while-revalidate=30"))
        cache.wait(.seconds(80))
        cache.origin.on(.reply(200, [("Cache-Control", "max-age=60")], body: "new"))
        let second = fetch()
        #expect(second.body == "old" && second.answer?.staleBecause == .whileRevalidating)
        #expect(second.isRefreshedLater)
        #expect(fetch().body == "new")
    }

    @Test func `11 a lifetime that is not a number means stale`() {
        store(("Cache-Control", "max-age=abc"), ("Expires", HTTPDateText.fixed(cache.now + .seconds(60))))
        #expect(fetch().answer?.source == .network)
    }

    @Test func `12 no-cache with max-age is asked about`() {
        store(("Cache-Control", "max-age=60, no-cache"))
        let second = fetch()
        #expect(second.first == nil && second.answer?.source == .network)
    }

    @Test func `13 a weak tag is sent back, and its 304 accepted`() {
        store(("Cache-Control", "max-age=0"), ("ETag", "W/\"a\""))
        cache.origin.on(.reply(304, [("ETag", "W/\"a\"")]))
        #expect(fetch().answer?.source == .notModified)
        #expect(cache.origin.requests.last?.headers.first("if-none-match") == "W/\"a\"")
    }

    @Test(arguments: [true, false]) func `14 and 15 stale-if-error answers a 503, with and without a validator`(
        _ hasValidator: Bool
    ) {
        let validator = hasValidator ? ("ETag", "\"a\"") : ("X-Other", "a")
        store(("Cache-Control", "max-age=60, stale-if-error=30"), validator)
        cache.wait(.seconds(80))
        cache.origin.on(.reply(503))
        let second = fetch()
        #expect(second.body == "old" && second.answer?.staleBecause == .ifError && second.answer?.status == 200)
        #expect(cache.origin.requests.last?.isConditional == hasValidator)
        cache.wait(.seconds(11))
        #expect(fetch().refusal == .error(status: 503))
    }

    @Test(arguments: [("max-age=60, stale-if-error=30", StaleReason.ifError), ("max-age=60", .disconnected)])
    func `16 and 17 a cut connection leaves the stored response, with and without stale-if-error`(
        _ directives: String, _ reason: StaleReason
    ) {
        store(("Cache-Control", directives))
        cache.wait(.seconds(80))
        for failure in [ScriptedOrigin.Answer.failure(.disconnected), .cut()] {
            cache.origin.on(failure)
            let second = fetch()
            #expect(second.body == "old" && second.answer?.staleBecause == reason)
        }
    }

    @Test func `18 a cut connection leaves no stale response with must-revalidate`() {
        store(("Cache-Control", "max-age=60, must-revalidate"))
        cache.wait(.seconds(80))
        cache.origin.on(.failure(.disconnected))
        let second = fetch()
        #expect(second.first == nil && second.answer == nil)
        #expect(second.refusal == .forbidden(.mustRevalidate))
    }
}
