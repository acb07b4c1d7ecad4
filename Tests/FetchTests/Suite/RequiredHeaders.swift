/// The required tests of stored headers, their update by a 304, `Age`, and invalidation.
enum RequiredHeaders {
    static let cases = stored + dropped + updates + invalidations + others

    private static let stored: [CacheCase] =
        [
            ("Test-Header", "aywusqomkigecay"), ("X-Test-Header", "abcdefghijklmno"),
            ("Content-Foo", "auoicwqkeysmgau"),
            ("X-Content-Foo", "axurolifczwtqnk"), ("Content-Encoding", "apetixmbqfujync"), ("Content-Length", "10"),
            ("Content-Location", "/bar"), ("Content-MD5", "N7UdGUp1E+RbVvZSTy1R8g=="),
            ("Content-Range", "ananananananana"), ("Content-Security-Policy", "default-src 'self' cdn.example.com"),
            ("Content-Type", "text/plain;charset=utf-8"), ("Clear-Site-Data", "cookies"), ("ETag", #""ghijkl""#),
            ("Expires", "Mon, 11 Jan 2038 11:11:11 GMT"), ("Public-Key-Pins", "askcumewogyqias"), ("Set-Cookie", "a=c"),
            ("Set-Cookie2", "a=c"), ("X-Frame-Options", "sameorigin"), ("X-XSS-Protection", "1; mode=block"),
        ].map { name, value in
            .reply(
                "headers-store-\(name)", "Date: @0 | \(name): \(value) | Cache-Control: max-age=3600",
                then: .stored, .has(name, value))
        } + [
            .reply(
                "headers-store-Cache-Control", "Date: @0 | Cache-Control: max-age=3600",
                then: .stored, .has("Cache-Control", "max-age=3600"))
        ]

    private static let dropped: [CacheCase] =
        [
            "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
            "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
        ].map { name in
            .reply(
                "headers-store-\(name)", "Date: @0 | \(name): ananananananana | Cache-Control: max-age=3600",
                then: .stored, .lacks(name))
        } + [
            .reply(
                "headers-omit-headers-listed-in-Connection",
                "Cache-Control: max-age=100000 | Date: @0 | Connection: a, b | a: 1 | b: 2 | c: 3",
                then: .stored, .has("c", "3"), .lacks("a"), .lacks("b"))
        ]

    private static let updates: [CacheCase] =
        [
            CacheCase(
                id: "304-lm-use-stored-Test-Header",
                steps: [
                    .init(
                        reply: "Cache-Control: max-age=2 | Last-Modified: Wed, 01 Jan 2020 00:00:00 GMT | Date: @0"
                            + " | Test-Header: aaaaaaaaaaaaaaa", waits: true),
                    .init(
                        reply: "Last-Modified: Wed, 01 Jan 2020 00:00:00 GMT | Date: @0",
                        expected: [.validated(by: "if-modified-since"), .has("Test-Header", "aaaaaaaaaaaaaaa")]),
                ]),
            update("Cache-Control", from: "max-age=1", to: "max-age=3600", otherwise: nil),
            update("Content-Length", from: "36", to: "10", stays: true),
        ]
        + ["Test-Header", "X-Test-Header", "Content-Foo", "X-Content-Foo"].map { name in
            update(name, from: "aaaaaaaaaaaaaaa", to: "abcdefghijklmno")
        }

    /// A 304 brings a new value, and the third request reads it from the store.
    private static func update(
        _ name: String, from old: String, to new: String, stays: Bool = false,
        otherwise lifetime: String? = "Cache-Control: max-age=2"
    ) -> CacheCase {
        let rest = ["Date: @0", lifetime, #"ETag: "abcdef""#].compactMap { $0 }.joined(separator: " | ")
        let kept = stays ? old : new
        return CacheCase(
            id: "304-etag-update-response-\(name)",
            steps: [
                .init(reply: "\(rest) | \(name): \(old)", waits: true),
                .init(
                    reply: "\(rest) | \(name): \(new)",
                    expected: [.validated(by: "if-none-match"), .has(name, kept)]),
                .init(expected: [.stored, .has(name, kept)]),
            ])
    }

    private static let invalidations: [CacheCase] = ["POST", "PUT", "DELETE", "M-SEARCH"].map { method in
        CacheCase(
            id: "invalidate-\(method)",
            steps: [
                .init(reply: "Cache-Control: max-age=100000 | Date: @0", waits: true), .init(method: method),
                .init(expected: [.asked]),
            ])
    }

    private static let others: [CacheCase] = [
        CacheCase(
            id: "other-authorization", isShared: true,
            steps: [
                .init(request: "Authorization: FOO", reply: "Cache-Control: max-age=100000 | Date: @0", waits: true),
                .init(expected: [.asked]),
            ]),
        .reply(
            "other-age-gen", "Cache-Control: max-age=100000 | Date: @0", then: .stored, .hasMore("Age", than: 2)),
        .reply(
            "other-age-update-expires", "Expires: @2592000 | Date: @0 | Age: 30",
            then: .stored, .hasMore("Age", than: 32)),
        .reply(
            "other-age-update-max-age", "Cache-Control: max-age=100000 | Date: @0 | Age: 30",
            then: .stored, .hasMore("Age", than: 32)),
        .reply("other-date-update", "Cache-Control: max-age=100000 | Date: @0", then: .stored, .unchanged("Date")),
        .reply("other-date-update-expires", "Expires: @2592000 | Date: @0", then: .stored, .unchanged("Date")),
        CacheCase(
            id: "query-args-different",
            steps: [
                .init(query: "?test=aywusqomkigecay", reply: "Cache-Control: max-age=100000 | Date: @0", waits: true),
                .init(query: "?test=azyxwvutsrqponm", expected: [.asked]),
            ]),
        CacheCase(
            id: "interim-not-cached",
            steps: [
                .init(
                    reply: "Cache-Control: max-age=100000 | Date: @0",
                    interim: (103, "link: </styles.css>; rel=preload; as=style"), waits: true),
                .init(expected: [.stored]),
            ]),
    ]
}
