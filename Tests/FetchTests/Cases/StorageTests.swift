import Commands
import Testing

@testable import Fetch
@testable import TestSupport
@testable import Transfers

@Suite struct StorageTests {
    private typealias Fields = [(String, String)]

    private func objection(
        _ status: Int, _ fields: [(String, String)], shared: Bool = false, request: [(String, String)] = []
    ) -> StorageRefusal? {
        var fetch = Exchanges.request
        fetch.headers = HeaderFields(request.map(HTTPField.init))
        return CacheRules(isShared: shared).objection(to: Exchanges.exchange(status, fields), for: fetch)
    }

    @Test(
        arguments: [
            (200, [], nil), (203, [], nil), (204, [], nil), (300, [], nil), (301, [], nil), (308, [], nil),
            (404, [], nil),
            (405, [], nil), (410, [], nil), (414, [], nil), (501, [], nil), (201, [], .noLifetime),
            (302, [], .noLifetime),
            (403, [], .noLifetime), (500, [], .noLifetime), (503, [], .noLifetime),
            (302, [("Cache-Control", "max-age=1")], nil), (503, [("Expires", "0")], nil),
            (302, [("Cache-Control", "public")], nil), (302, [("Cache-Control", "private")], nil),
            (302, [("Cache-Control", "s-maxage=1")], .noLifetime), (206, [("Cache-Control", "max-age=1")], .status),
            (304, [], .status), (103, [("Cache-Control", "max-age=1")], .status),
            (599, [("Cache-Control", "max-age=1")], .status), (428, [("Cache-Control", "max-age=1")], .status),
            (429, [("Cache-Control", "max-age=1")], .status), (431, [("Cache-Control", "max-age=1")], .status),
            (511, [("Cache-Control", "max-age=1")], .status),
            (200, [("Cache-Control", "no-store, max-age=1")], .noStore),
            (200, [("Cache-Control", "no-store, must-understand")], nil),
            (599, [("Cache-Control", "no-store, must-understand")], .noStore), (200, [("Vary", "*")], nil),
        ] as [(Int, Fields, StorageRefusal?)])
    private func `a response may be stored by its status and its directives`(
        _ status: Int, _ fields: Fields, _ expected: StorageRefusal?
    ) {
        #expect(objection(status, fields) == expected)
    }

    @Test func `a request with no-store stores nothing`() {
        #expect(objection(200, [], request: [("Cache-Control", "no-store")]) == .noStore)
    }

    @Test func `a truncated body is not stored`() {
        var exchange = Exchanges.exchange(200, [("Cache-Control", "max-age=1")])
        exchange.isComplete = false
        #expect(CacheRules().objection(to: exchange, for: Exchanges.request) == .incomplete)
    }

    @Test(
        arguments: [
            ("private", false, .isPrivate), ("private=\"x\", max-age=1", false, .isPrivate), ("s-maxage=1", false, nil),
            ("max-age=1", true, .authorization), ("public", true, nil), ("s-maxage=1", true, nil),
            ("must-revalidate", true, nil),
        ] as [(String, Bool, StorageRefusal?)])
    func `a shared cache obeys private and the rules for Authorization`(
        _ directives: String, _ isAuthorized: Bool, _ expected: StorageRefusal?
    ) {
        let request = isAuthorized ? [("Authorization", "A")] : []
        let fields = [("Cache-Control", directives)]
        #expect(objection(200, fields, shared: true, request: request) == expected)
        #expect(objection(200, fields, request: request) == nil)
    }

    @Test func `fields of the connection are not stored, and Connection cannot remove those of the cache`() {
        let stored = Exchanges.stored([
            ("Connection", "close, X-Hop, Cache-Control , vary"), ("X-Hop", "1"), ("Cache-Control", "no-cache"),
            ("Vary", "Foo"), ("Keep-Alive", "timeout=5"), ("TE", "trailers"), ("Proxy-Authenticate", "Basic"),
            ("X-Other", "1"),
        ])
        #expect(stored.headers.fields.map(\.name) == ["Cache-Control", "Vary", "X-Other"])
        #expect(stored.flags.contains(.noCache) && stored.key.vary == #"{"foo":null}"#)
    }

    @Test func `a stored response has every column`() {
        let stored = Exchanges.stored([
            ("Cache-Control", "max-age=60, stale-if-error=10, stale-while-revalidate=20, immutable"),
            ("ETag", "W/\"a\""), ("Last-Modified", "@-1000"), ("Age", "5"),
        ])
        let now = Exchanges.now
        #expect(stored.freshUntil == now + .seconds(55) && stored.staleErrorUntil == now + .seconds(65))
        #expect(stored.staleWhileUntil == now + .seconds(75) && stored.flags == .immutable)
        #expect(stored.etag?.text == "W/\"a\"" && stored.lastModified == HTTPDateText.fixed(now + .seconds(-1000)))
        #expect(stored.ageAtReceipt == .seconds(5) && stored.bytes == 4 && stored.sha256 == "digest of body")
        #expect(stored.requestedAt == now && stored.validatedAt == now && stored.key.vary == "{}")
    }

    @Test(arguments: [("a\u{1}b", "@-5"), ("", "today"), (String(repeating: "a", count: 1025), "0")])
    func `a validator that is not one is not sent back`(_ etag: String, _ date: String) {
        let stored = Exchanges.stored([("ETag", etag), ("Last-Modified", date)])
        #expect(stored.etag == nil)
        #expect((stored.lastModified == nil) == (date != "@-5"))
    }

    @Test func `a private cache ignores s-maxage and proxy-revalidate, and a shared one keeps both`() {
        for directive in ["s-maxage=0, max-age=60", "max-age=60, proxy-revalidate"] {
            let fields = [("Cache-Control", directive)]
            #expect(!Exchanges.stored(fields).flags.contains(.mustRevalidate))
            #expect(Exchanges.stored(fields, shared: true).flags.contains(.mustRevalidate))
        }
    }
}
