import Commands
import Testing

@testable import Fetch
@testable import Transfers

@Suite struct CacheInvalidationTests {
    private func urls(
        _ method: String, _ status: Int = 200, _ fields: [(String, String)] = [], url: String = "http://O.test:80/a/b?c"
    ) throws -> [String] {
        CacheInvalidation.urls(
            method: method, url: try ResourceURL(url), response: Exchanges.exchange(status, fields).head)
    }

    @Test(arguments: ["PUT", "POST", "DELETE", "PATCH", "M-SEARCH", "get"]) func `an unsafe method makes its URL stale`(
        _ method: String
    ) throws {
        for status in [200, 201, 204, 302, 303, 399] { #expect(try urls(method, status) == ["http://o.test/a/b?c"]) }
        for status in [199, 400, 404, 500] { #expect(try urls(method, status) == []) }
    }

    @Test(arguments: ["GET", "HEAD", "OPTIONS", "TRACE"]) func `a safe method makes nothing stale`(_ method: String)
        throws
    {
        #expect(try urls(method, 200, [("Location", "/x")]) == [])
    }

    @Test(arguments: [
        ("/x", "http://o.test/x"), ("x", "http://o.test/a/x"), ("../x?y#z", "http://o.test/x?y"),
        ("http://o.test:80/x", "http://o.test/x"), ("HTTP://O.TEST/x", "http://o.test/x"),
        ("//o.test/x", "http://o.test/x"),
        ("https://o.test/x", nil), ("http://o.test:81/x", nil), ("http://p.test/x", nil), ("//p.test/x", nil),
        ("http://[bad", nil), ("a b", nil), ("", nil), ("b?c", nil),
    ])
    func `Location and Content-Location of the same origin become stale too`(_ value: String, _ expected: String?)
        throws
    {
        for name in ["Location", "content-location"] {
            let urls = try urls("POST", 201, [(name, value)])
            #expect(urls == ["http://o.test/a/b?c"] + (expected.map { [$0] } ?? []), "\(name)")
        }
    }

    @Test func `at most three URLs become stale, each once`() throws {
        let fields = [("Location", "/x"), ("Location", "/y"), ("Content-Location", "/z")]
        #expect(try urls("PUT", 201, fields) == ["http://o.test/a/b?c", "http://o.test/x", "http://o.test/z"])
        let same = [("Location", "/x"), ("Content-Location", "/x")]
        #expect(try urls("PUT", 201, same).count == 2)
        #expect(try urls("PUT", 200, [], url: "file:///srv/a") == [])
    }

    @Test func `an invalidated response has no time left, and keeps its validators`() {
        let fields = [("Cache-Control", "max-age=60, stale-if-error=60, stale-while-revalidate=60"), ("ETag", "\"a\"")]
        let stored = Exchanges.stored(fields)
        let invalidated = stored.invalidated(at: Exchanges.now + .seconds(1))
        let limit = Exchanges.now + .seconds(1)
        #expect(invalidated.freshUntil == limit && invalidated.staleErrorUntil == limit)
        #expect(invalidated.staleWhileUntil == limit && invalidated.flags.contains(.invalidated))
        #expect(ConditionalRequest(validating: invalidated, mode: .both).isConditional)
        #expect(stored.invalidated(at: limit + .seconds(1000)).freshUntil == stored.freshUntil)
    }
}
