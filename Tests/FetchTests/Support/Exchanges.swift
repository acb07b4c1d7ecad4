import Commands

@testable import Fetch
@testable import TestSupport
@testable import Transfers

/// Exchanges and stored responses for tests of single rules, around one moment.
enum Exchanges {
    /// 2026-01-02T00:00:00Z.
    static let now = Timestamp(milliseconds: 1_767_312_000_000)
    static let request = FetchRequest(url: "http://origin.test/a")

    /// - Parameter fields: `@` and a number stand for a date that many seconds from ``now``.
    static func exchange(
        _ status: Int = 200, _ fields: [(String, String)] = [], asked: ConditionalRequest = .unconditional,
        at time: Timestamp = now, body: String = "body"
    ) -> FetchExchange {
        let fields = fields.map { name, value in
            guard value.first == "@", let seconds = Int64(value.dropFirst()) else { return HTTPField(name, value) }
            return HTTPField(name, HTTPDateText.fixed(now + .seconds(seconds)))
        }
        return FetchExchange(
            asked: asked, requestedAt: time, respondedAt: time,
            head: ResponseHead(status: status, headers: HeaderFields(fields)), bytes: Int64(body.utf8.count),
            sha256: "digest of \(body)")
    }

    static func stored(
        _ fields: [(String, String)], status: Int = 200, request: FetchRequest = request, shared: Bool = false,
        at time: Timestamp = now
    ) -> StoredResponse {
        StoredResponse(exchange(status, fields, at: time), for: request, isShared: shared)
    }
}
