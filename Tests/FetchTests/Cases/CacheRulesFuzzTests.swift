import Commands
import TestSupport
import Testing

@testable import Fetch
@testable import Transfers

/// Fetches at random from an origin that answers at random, and checks the promises of the cache.
@Suite struct CacheRulesFuzzTests {
    private static let directives = [
        "max-age=10", "max-age=0", "max-age=x", "max-age=\"5\"", "s-maxage=20", "no-cache", "no-store", "private",
        "public",
        "must-revalidate", "proxy-revalidate", "immutable", "must-understand", "stale-while-revalidate=10",
        "stale-if-error=10", "ext=\"no-store", "ext=\",\"",
    ]
    private static let statuses = [200, 200, 200, 203, 204, 206, 301, 304, 403, 404, 410, 429, 500, 503, 599]

    private static func answer(_ random: inout SeededRandom, _ now: Timestamp, _ number: Int) -> ScriptedOrigin.Answer {
        if random.chance(0.1) { return .failure(random.chance(0.5) ? .offline : .disconnected) }
        var fields: [(String, String)] = []
        func pick(_ values: [String]) -> String { values[random.number(in: 0..<values.count)] }
        for _ in 0..<random.number(in: 0..<3) {
            let values = (0..<random.number(in: 1..<3)).map { _ in pick(directives) }
            fields.append(("Cache-Control", values.joined(separator: ", ")))
        }
        func date() -> String { HTTPDateText.fixed(now + .seconds(random.number(in: -100..<100))) }
        if random.chance(0.3) { fields.append(("Date", date())) }
        if random.chance(0.2) { fields.append(("Expires", random.chance(0.8) ? date() : "0")) }
        if random.chance(0.4) { fields.append(("Last-Modified", date())) }
        if random.chance(0.5) { fields.append(("ETag", pick(["\"a\"", "\"b\"", "W/\"a\"", "c"]))) }
        if random.chance(0.2) { fields.append(("Age", pick(["0", "5", "500", "x"]))) }
        if random.chance(0.3) { fields.append(("Vary", pick(["Accept-Language", "Cookie, Foo", "*", ""]))) }
        if random.chance(0.1) { fields.append(("Connection", "ETag, Foo")) }
        if random.chance(0.05) { return .cut(fields) }
        return .reply(statuses[random.number(in: 0..<statuses.count)], fields, body: "body \(number)")
    }

    private static func request(_ random: inout SeededRandom) -> FetchRequest {
        var headers: [HTTPField] = []
        if random.chance(0.5) { headers.append(HTTPField("Accept-Language", random.chance(0.5) ? "en" : "fr")) }
        if random.chance(0.3) { headers.append(HTTPField("Cookie", random.chance(0.5) ? "A" : "B")) }
        let fields = HeaderFields(headers)
        return FetchRequest(
            url: "http://origin.test/\(random.number(in: 0..<3))", partition: CachePartition.text(headers: fields),
            headers: fields, mode: FetchNetworkUse.allCases.randomElement(using: &random) ?? .both,
            maxStale: random.chance(0.3) ? .seconds(random.number(in: 0..<30)) : nil)
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `no answer breaks a promise of the cache`() throws {
        var random = SeededRandom.announced("cache rules fuzz")
        for _ in 0..<150 {
            let cache = SimulatedCache(rules: CacheRules(isShared: random.chance(0.3)))
            for number in 0..<60 {
                var source = SeededRandom(seed: random.next())
                cache.origin.script = [{ _, now in Self.answer(&source, now, number) }]
                let request = Self.request(&random)
                let before = (cache.origin.requests.count, cache.now)
                let transcript = cache.fetch(request)
                let asked = cache.origin.requests.dropFirst(before.0)
                check(transcript, request, Array(asked))
                checkRows(cache)
                if random.chance(0.1) { try cache.send("PUT", request.url) }
                cache.wait(.seconds(random.number(in: random.chance(0.05) ? -50..<0 : 0..<15)))
            }
        }
    }

    private func check(
        _ transcript: SimulatedCache.Transcript, _ request: FetchRequest, _ asked: [ScriptedOrigin.Request]
    ) {
        #expect(asked.count <= 2)
        #expect((transcript.answer == nil) == (transcript.refusal != nil))
        if request.mode == .stored { #expect(asked.isEmpty) }
        if asked.count == 2 { #expect(asked[0].isConditional && !asked[1].isConditional) }
        for result in [transcript.first, transcript.answer].compactMap({ $0 }) where result.source == .stored {
            let control = CacheControl(result.headers)
            #expect(!control.isNoCache, "a response with no-cache was shown unasked")
            #expect(!(control.mustRevalidate && result.isStale), "a stale response was shown with must-revalidate")
            #expect(!control.isNoStore || control.mustUnderstand, "a response with no-store was stored")
            if request.maxStale == .zero { #expect(!result.isStale) }
            if request.mode == .reload { #expect(control.isImmutable && !result.isStale) }
        }
        if let answer = transcript.answer, answer.isWithheld { #expect(answer.headers == HeaderFields()) }
    }

    private func checkRows(_ cache: SimulatedCache) {
        #expect(Set(cache.rows.map(\.key)).count == cache.rows.count)
        for row in cache.rows {
            #expect(row.status != 206 && row.status != 304 && row.status != 429 && row.status != 599)
            #expect(row.freshUntil <= row.staleErrorUntil && row.freshUntil <= row.staleWhileUntil)
            #expect(row.ageAtReceipt >= .zero)
            #expect(!row.headers.contains("connection"))
            if cache.rules.isShared { #expect(!CacheControl(row.headers).isPrivate) }
        }
    }
}
