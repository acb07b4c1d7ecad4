import Commands
import HTTPClient
import Testing

/// Limits that a server states without Retry-After.
struct RequestLimitTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT
    private static let now = Timestamp(milliseconds: 784_111_777_000)

    private func wait(_ status: Int, _ headers: [String: String]) -> Duration? {
        RequestLimit.retryAfter(status, now: Self.now) { headers[$0] }
            .flatMap { RetryAfter.duration($0, now: Self.now) }
    }

    private static let epoch = [
        "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1763000090", "date": "Thu, 13 Nov 2025 02:13:20 GMT",
    ]

    @Test(arguments: [403, 429]) func `a limit that is used up says when it is reset`(_ status: Int) {
        // The server's clock counts, not this host's.
        #expect(wait(status, Self.epoch) == .seconds(90))
        #expect(wait(status, ["ratelimit-remaining": "0", "ratelimit-reset": "30"]) == .seconds(30))
        #expect(wait(status, ["x-ratelimit-remaining": "0", "x-ratelimit-reset": "1.25"]) == .seconds(2))
        #expect(wait(status, ["ratelimit": "\"default\";r=0;t=50"]) == .seconds(50))
        #expect(wait(status, ["x-ratelimit-remaining": "0", "x-ratelimit-reset": "900000"]) == .seconds(86_400))
    }

    @Test func `Retry-After counts first, and other answers have no limit`() {
        #expect(wait(403, Self.epoch.merging(["retry-after": "5"]) { $1 }) == .seconds(5))
        #expect(wait(404, Self.epoch) == nil && wait(200, Self.epoch) == nil)
        #expect(wait(403, ["x-ratelimit-remaining": "12", "x-ratelimit-reset": "30"]) == nil)
        #expect(wait(403, ["x-ratelimit-reset": "30"]) == nil && wait(429, ["x-ratelimit-reset": "30"]) == .seconds(30))
        #expect(wait(429, ["x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"]) == nil)
        #expect(wait(429, ["x-ratelimit-reset": "-1"]) == nil && wait(429, ["ratelimit": "x"]) == nil)
    }
}
