@testable import Fetch

/// The required tests of directives, stale responses and statuses.
enum RequiredResponses {
    static let cases = directives + stale + heuristics + statuses

    private static let anHour = "Cache-Control: max-age=10000 | Expires: @10000 | Date: @0"

    private static let directives: [CacheCase] = [
        .reply(
            "cc-resp-private-shared", "Cache-Control: private, max-age=3600", waits: false, shared: true, then: .asked),
        .reply("cc-resp-no-store", "Cache-Control: no-store", waits: false, then: .asked),
        .reply("cc-resp-no-store-case-insensitive", "Cache-Control: No-StOrE", waits: false, then: .asked),
        .reply(
            "cc-resp-no-store-fresh", "Cache-Control: max-age=10000, no-store | Expires: @10000 | Date: @0",
            waits: false, then: .asked),
        replacedByNoStore("cc-resp-no-store-old-new", "no-store"),
        replacedByNoStore("cc-resp-no-store-old-max-age", "no-store, max-age=0"),
        .reply(
            "cc-resp-no-cache", "Cache-Control: max-age=10000, no-cache | Expires: @10000 | Date: @0", waits: false,
            then: .asked),
        .reply(
            "cc-resp-no-cache-case-insensitive",
            "Cache-Control: max-age=10000, No-CaChE | Expires: @10000 | Date: @0", waits: false, then: .asked),
        CacheCase(
            id: "cc-resp-must-revalidate-stale",
            steps: [
                .init(reply: #"Cache-Control: max-age=2, must-revalidate | ETag: "abcd""#),
                .init(
                    reply: #"Cache-Control: max-age=2, must-revalidate | ETag: "abcd""#, waits: true,
                    expected: [.stored]),
                .init(expected: [.validated(by: "if-none-match")]),
            ]),
        CacheCase(
            id: "cc-resp-immutable-stale",
            steps: [
                .init(reply: #"Cache-Control: max-age=2, immutable | ETag: "abcd""#, waits: true),
                .init(
                    mode: .reload, expected: [.validated(by: "if-none-match"), .sent("Cache-Control", "max-age=0")]),
            ]),
    ]

    /// The second response would not be stored, and is not asked for.
    private static func replacedByNoStore(_ id: String, _ directives: String) -> CacheCase {
        CacheCase(
            id: id,
            steps: [
                .init(reply: "\(anHour) | A: 1", waits: true),
                .init(reply: "Cache-Control: \(directives) | Date: @0 | A: 2", waits: true),
                .init(expected: [.stored, .has("A", "1")]),
            ])
    }

    private static let stale: [CacheCase] = [
        CacheCase(
            id: "stale-while-revalidate-window",
            steps: [
                .init(reply: #"Cache-Control: max-age=1, stale-while-revalidate=4 | ETag: "abc""#, waits: true),
                .init(reply: #"Cache-Control: no-cache | ETag: "def""#, waits: true, expected: [.stored]),
                .init(expected: [.asked]),
            ]),
        cut("stale-close-must-revalidate", "max-age=2, must-revalidate"),
        cut("stale-close-proxy-revalidate", "max-age=2, proxy-revalidate", shared: true),
        cut("stale-close-no-cache", "max-age=2, no-cache"),
        cut("stale-close-s-maxage=2", "max-age=2, s-maxage=2", shared: true),
    ]

    private static func cut(_ id: String, _ directives: String, shared: Bool = false) -> CacheCase {
        CacheCase(
            id: id, isShared: shared,
            steps: [
                .init(reply: "Cache-Control: \(directives)", waits: true),
                .init(isCut: true, expected: [.unanswered]),
            ])
    }

    /// A status without a lifetime of its own, and without one by default.
    private static let heuristics: [CacheCase] = [201, 202, 403, 502, 503, 504, 599].map { status in
        CacheCase(
            id: "heuristic-\(status)-not_cached",
            steps: [
                .init(status: status, reply: "Last-Modified: @-86400 | Date: @0"),
                .init(status: status, expected: [.asked]),
            ])
    }

    private static let statuses: [CacheCase] =
        [200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599].map { status in
            CacheCase(
                id: "status-\(status)-stale",
                steps: [
                    .init(status: status, reply: "Expires: @-5000 | Last-Modified: @-100000 | Date: @0", waits: true),
                    .init(expected: [.asked]),
                ])
        } + [
            CacheCase(
                id: "status-599-must-understand",
                steps: [
                    .init(status: 599, reply: "Cache-Control: max-age=3600, no-store, must-understand"),
                    .init(expected: [.asked]),
                ])
        ]
}
