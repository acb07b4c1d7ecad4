/// The required tests of `Vary` and of conditional requests.
enum RequiredVary {
    static let cases = mismatches + stars + conditions

    private static let mismatches: [CacheCase] = [
        variant("vary-no-match", "Foo", "Foo: 1", "Foo: 2"),
        variant("vary-omit-stored", "Foo", "", "Foo: 1"),
        variant("vary-omit", "Foo", "Foo: 1", ""),
        variant("vary-2-no-match", "Foo, Bar", "Foo: 1 | Bar: abc", "Foo: 2 | Bar: abc"),
        variant("vary-2-match-omit", "Foo, Bar", "Foo: 1 | Bar: abc", ""),
        variant(
            "vary-3-no-match", "Foo, Bar, Baz", "Foo: 1 | Bar: abc | Baz: 789", "Foo: 2 | Bar: abc | Baz: 789"),
        variant("vary-3-order", "Foo, Bar, Baz", "Foo: 1 | Bar: abc | Baz: 789", "Foo: 1 | Baz: 789 | Bar: abcde"),
    ]

    private static let stars: [CacheCase] = [
        ("vary-star", "Vary: *"), ("vary-syntax-star", "Vary: *"), ("vary-syntax-star-star", "Vary: *, *"),
        ("vary-syntax-star-star-lines", "Vary: * | Vary: *"), ("vary-syntax-empty-star", "Vary: , *"),
        ("vary-syntax-empty-star-lines", "Vary: | Vary: *"), ("vary-syntax-star-foo", "Vary: *, Foo"),
        ("vary-syntax-foo-star", "Vary: Foo, *"),
    ].map { id, vary in lines(id, vary, "Foo: 1 | Baz: 789", "Foo: 1 | Baz: 789", .asked) }

    /// Two requests to a resource that varies.
    static func variant(
        _ id: String, _ names: String, _ first: String, _ second: String, then expected: CacheCase.Expectation = .asked
    ) -> CacheCase {
        lines(id, "Vary: \(names)", first, second, expected)
    }

    private static func lines(
        _ id: String, _ vary: String, _ first: String, _ second: String, _ expected: CacheCase.Expectation
    ) -> CacheCase {
        let reply = "Cache-Control: max-age=5000 | Last-Modified: @-3000 | Date: @0 | \(vary)"
        return CacheCase(
            id: id, steps: [.init(request: first, reply: reply), .init(request: second, expected: [expected])])
    }

    private static let conditions: [CacheCase] = [
        CacheCase(
            id: "conditional-etag-vary-headers",
            steps: [
                .init(request: "Abc: 123", reply: #"Expires: @1 | ETag: "abcdef" | Date: @0 | Vary: Abc"#, waits: true),
                .init(request: "Abc: 123", expected: [.validated(by: "if-none-match"), .sent("Abc", "123")]),
            ])
    ]
}
