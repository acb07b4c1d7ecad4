@testable import Fetch

/// The tests of the suite that a cache passes by answering from the store more often: `optimal`.
enum OptimalCases {
    static let cases = lifetimes + expires + directives + heuristics + statuses + variants + others

    private static let lifetimes: [CacheCase] =
        [
            ("freshness-max-age", "max-age=3600"), ("freshness-max-age-max-minus-1", "max-age=2147483647"),
            ("freshness-max-age-max", "max-age=2147483648"), ("freshness-max-age-max-plus-1", "max-age=2147483649"),
            ("freshness-max-age-max-plus", "max-age=99999999999"),
            ("freshness-max-age-extension", "foobar, max-age=3600"),
            ("freshness-max-age-case-insenstive", "MaX-aGe=3600"),
        ].map { id, directives in .reply(id, "Cache-Control: \(directives)", then: .stored) } + [
            .reply(
                "freshness-max-age-expires", "Cache-Control: max-age=3600 | Expires: @-7200 | Date: @0", then: .stored),
            .reply(
                "freshness-max-age-expires-invalid", "Cache-Control: max-age=3600 | Expires: 0 | Date: @0",
                then: .stored),
            .reply(
                "freshness-max-age-s-maxage-shared-shorter", "Cache-Control: max-age=1, s-maxage=3600", shared: true,
                then: .stored),
            .reply(
                "freshness-max-age-s-maxage-shared-shorter-expires",
                "Expires: @-10 | Cache-Control: max-age=0, s-maxage=3600", shared: true, then: .stored),
        ]

    private static let expires: [CacheCase] =
        [
            .reply("freshness-expires-future", "Expires: @2592000 | Date: @0", then: .stored),
            .reply("freshness-expires-invalid-date", "Date: foo | Expires: @10", waits: false, then: .stored),
        ]
        + [
            ("32bit", "Tue, 19 Jan 2038 14:14:08 GMT"), ("far-future", "Sun, 21 Nov 2286 04:46:39 GMT"),
            ("rfc850", "Thursday, 18-Aug-50 02:01:18 GMT"), ("ansi-c", "Thu Aug  8 02:01:18 2050"),
            ("wrong-case-weekday", "THU, 18 Aug 2050 02:01:18 GMT"),
            ("wrong-case-month", "Thu, 18 AUG 2050 02:01:18 GMT"), ("wrong-case-tz", "Thu, 18 Aug 2050 02:01:18 gMT"),
        ].map { name, date in .reply("freshness-expires-\(name)", "Expires: \(date) | Date: @0", then: .stored) }

    private static let directives: [CacheCase] = [
        .reply("cc-resp-private-private", "Cache-Control: private, max-age=3600", waits: false, then: .stored),
        .reply(
            "cc-resp-no-cache-revalidate", #"Cache-Control: no-cache | ETag: "abcd""#, waits: false,
            then: .validated(by: "if-none-match")),
        .reply(
            "cc-resp-no-cache-revalidate-fresh",
            #"Cache-Control: max-age=10000, no-cache | Expires: @10000 | Date: @0 | ETag: "abcd""#, waits: false,
            then: .validated(by: "if-none-match")),
        .reply(
            "cc-resp-must-revalidate-fresh", #"Cache-Control: max-age=10000, must-revalidate | ETag: "abcd""#,
            waits: false, then: .stored),
        CacheCase(
            id: "cc-resp-immutable-fresh",
            steps: [
                .init(reply: #"Cache-Control: max-age=10000, immutable | ETag: "abcd""#, waits: true),
                .init(mode: .reload, expected: [.stored]),
            ]),
        .reply(
            "stale-while-revalidate", #"Cache-Control: max-age=1, stale-while-revalidate=3600 | ETag: "abc""#,
            then: .stored),
        .reply(
            "conditional-etag-strong-generate", #"Cache-Control: max-age=2 | Date: @0 | ETag: "abcdef""#,
            then: .validated(by: "if-none-match"), .sent("If-None-Match", #""abcdef""#)),
        .reply(
            "conditional-etag-weak-generate-weak", #"Cache-Control: max-age=2 | Date: @0 | ETag: W/"abcdef""#,
            then: .validated(by: "if-none-match"), .sent("If-None-Match", #"W/"abcdef""#)),
    ]

    private static let heuristics: [CacheCase] = [
        (200, ""), (203, ""), (204, ""), (404, ""), (405, ""), (410, ""), (414, ""), (501, ""),
        (599, " | Cache-Control: public"),
    ].map { status, more in
        CacheCase(
            id: "heuristic-\(status)-cached",
            steps: [
                .init(status: status, reply: "Last-Modified: @-86400 | Date: @0\(more)"),
                .init(status: status, expected: [.stored]),
            ])
    }

    private static let statuses: [CacheCase] =
        [200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599].map { status in
            CacheCase(
                id: "status-\(status)-fresh",
                steps: [
                    .init(status: status, reply: "Cache-Control: max-age=100000 | Date: @0", waits: true),
                    .init(status: status, expected: [.stored]),
                ])
        } + [
            .reply(
                "status-200-must-understand", "Cache-Control: max-age=3600, no-store, must-understand", waits: false,
                then: .stored)
        ]

    private static let variants: [CacheCase] = [
        RequiredVary.variant("vary-match", "Foo", "Foo: 1", "Foo: 1", then: .stored),
        RequiredVary.variant("vary-cache-key", "Foo", "Foo: 1 | Other: 2", "Foo: 1 | Other: 3", then: .stored),
        RequiredVary.variant("vary-2-match", "Foo, Bar", "Foo: 1 | Bar: abc", "Foo: 1 | Bar: abc", then: .stored),
        RequiredVary.variant(
            "vary-3-match", "Foo, Bar, Baz", "Foo: 1 | Bar: abc | Baz: 789", "Foo: 1 | Bar: abc | Baz: 789",
            then: .stored),
        RequiredVary.variant(
            "vary-3-omit", "Foo, Bar, Baz", "Foo: 1 | Baz: 789", "Foo: 1 | Baz: 789", then: .stored),
        RequiredVary.variant("vary-normalise-combine", "Foo", "Foo: 1, 2", "Foo: 1 | Foo: 2", then: .stored),
        RequiredVary.variant("vary-normalise-space", "Foo", "Foo: 1,2", "Foo:  1, 2 ", then: .stored),
        language("order", "de, en"), language("case", "eN, De"), language("space", " en ,   de"),
        language("select", "fr;q=0.5, de;q=1.0", more: " | Content-Language: de"),
        CacheCase(
            id: "vary-invalidate",
            steps: [
                .init(request: "Foo: 1", reply: varies, body: "one"),
                .init(request: "Foo: 2", reply: varies, body: "two", expected: [.asked]),
                .init(request: "Foo: 1", body: "one", expected: [.stored]),
            ]),
    ]

    private static let varies = "Cache-Control: max-age=5000 | Last-Modified: @-3000 | Date: @0 | Vary: Foo"

    private static func language(_ name: String, _ second: String, more: String = "") -> CacheCase {
        CacheCase(
            id: "vary-normalise-lang-\(name)",
            steps: [
                .init(
                    request: "Accept-Language: en, de",
                    reply:
                        "Cache-Control: max-age=5000 | Last-Modified: @-3000 | Date: @0 | Vary: Accept-Language\(more)"
                ),
                .init(request: "Accept-Language: \(second)", expected: [.stored]),
            ])
    }

    private static let long = "Cache-Control: max-age=100000 | Date: @0"

    private static let others: [CacheCase] =
        ["POST", "PUT", "DELETE", "M-SEARCH"].map { method in
            CacheCase(
                id: "invalidate-\(method)-failed",
                steps: [
                    .init(reply: long, waits: true), .init(method: method, status: 500), .init(expected: [.stored]),
                ])
        }
        + [
            ("public", "max-age=3600, public"), ("must-revalidate", "max-age=3600, must-revalidate"),
            ("smaxage", "s-maxage=3600"),
        ]
        .map { name, directives in
            CacheCase(
                id: "other-authorization-\(name)", isShared: true,
                steps: [
                    .init(request: "Authorization: FOO", reply: "Cache-Control: \(directives) | Date: @0", waits: true),
                    .init(expected: [.stored]),
                ])
        } + [
            CacheCase(
                id: "query-args-same",
                steps: [
                    .init(query: "?test=azyxwvutsrqponm", reply: long, waits: true),
                    .init(query: "?test=azyxwvutsrqponm", expected: [.stored]),
                ]),
            .reply("other-set-cookie", "\(long) | Set-Cookie: a=b", then: .stored),
            CacheCase(
                id: "other-cookie",
                steps: [.init(reply: long, waits: true), .init(request: "Cookie: a=b", expected: [.stored])]),
            interim("interim-102", (102, "")),
            interim("interim-103", (103, "link: </styles.css>; rel=preload; as=style | x-my-header: test")),
            CacheCase(
                id: "interim-no-header-reuse",
                steps: [
                    .init(reply: long, interim: (103, "x-my-header: test"), waits: true),
                    .init(expected: [.stored, .lacks("x-my-header")]),
                ]),
        ]

    private static func interim(_ id: String, _ interim: (Int, String)) -> CacheCase {
        CacheCase(id: id, steps: [.init(reply: long, interim: interim, waits: true), .init(expected: [.stored])])
    }
}
