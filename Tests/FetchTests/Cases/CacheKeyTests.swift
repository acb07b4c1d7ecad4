import Commands
import Operations
import Testing

@testable import Fetch
@testable import Transfers

@Suite struct CacheKeyTests {
    @Test(arguments: [
        ("HTTP://Origin.Test:80/A?b=%41#c", "http://origin.test/A?b=%41"), ("https://o.test:443", "https://o.test/"),
        ("https://o.test?x", "https://o.test/?x"), ("http://o.test:8080/", "http://o.test:8080/"),
        ("http://o.test/a#", "http://o.test/a"), ("http://o.test/?", "http://o.test/?"),
        ("http://[::1]:80/a", "http://[::1]/a"), ("http://o.test/a/../b", "http://o.test/a/../b"),
        ("http://o.test/%7e", "http://o.test/%7e"), ("https://o.test:80/", "https://o.test:80/"),
        ("http://o.test:080/", "http://o.test/"), ("file:///srv/a", "file:///srv/a"),
    ])
    func `a URL has one form`(_ text: String, _ expected: String) throws {
        #expect(try CacheKey.url(text) == expected)
        #expect(try CacheKey.url(expected) == expected)
    }

    @Test(arguments: ["", "a", "ftp://o.test/", "http://", "http://u:p@o.test/", "http://o.test/ a", "#"])
    func `a text that is not a URL is refused`(_ text: String) {
        #expect(throws: PayloadError.self) { try CacheKey.url(text) }
    }

    private func partition(
        _ headers: [(String, String)], name: String? = nil, credential: String? = nil
    ) -> String {
        CachePartition.text(name: name, credential: credential, headers: HeaderFields(headers.map(HTTPField.init)))
    }

    @Test func `a request without secrets has the empty partition`() {
        #expect(partition([("Accept", "x"), ("User-Agent", "sluice")]) == "")
    }

    @Test func `each secret makes a partition, and no secret is in its text`() {
        let texts = [
            partition([("Authorization", "A")]), partition([("Authorization", "B")]), partition([("Cookie", "A")]),
            partition([("X-Api-Key", "A")]), partition([("Cookie", "A"), ("Authorization", "A")]),
            partition([], credential: "ci"), partition([("Cookie", "A")], credential: "ci"), partition([], name: "ci"),
            partition([("Cookie", "A"), ("Cookie", "B")]), partition([("Cookie", "AB")]),
            partition([("X-Token", "key1")]), partition([("X-Tokenkey", "1")]),
        ]
        #expect(Set(texts).count == texts.count && !texts.contains(""))
        #expect(!partition([("Authorization", "hunter2")]).contains("hunter2"))
    }

    @Test func `case and order of secret headers do not matter, and a named partition replaces them`() {
        #expect(
            partition([("cookie", "A"), ("Authorization", "B")])
                == partition([("AUTHORIZATION", "B "), ("Cookie", "A")]))
        #expect(partition([("Cookie", "A")], name: "alice") == partition([("Cookie", "B")], name: "alice"))
        #expect(partition([], name: "alice", credential: "ci") != partition([], name: "alice"))
    }

    private func vary(_ vary: String..., request: [(String, String)]) -> String {
        VaryNames(HeaderFields(vary.map { HTTPField("Vary", $0) }))
            .text(for: HeaderFields(request.map(HTTPField.init)))
    }

    @Test func `the vary column is the JSON of the nominated headers`() {
        #expect(vary(request: [("A", "1")]) == "{}")
        #expect(vary("Accept-Language, FOO", request: [("foo", "1")]) == #"{"accept-language":null,"foo":"1"}"#)
        #expect(vary("b", "A, b", request: [("A", "1"), ("a", "2")]) == #"{"a":"1, 2","b":null}"#)
        #expect(vary("Accept-Language", request: [("Accept-Language", "en , De")]) == #"{"accept-language":"en,de"}"#)
        #expect(vary("Foo", request: [("Foo", "")]) == #"{"foo":""}"#)
        #expect(vary("Foo", request: [("Foo", "a \"q\"")]) == #"{"foo":"a \"q\""}"#)
    }

    @Test func `a secret header is in the vary column by its presence only`() {
        #expect(vary("Cookie", request: [("Cookie", "hunter2")]) == #"{"cookie":"[redacted]"}"#)
        #expect(vary("Cookie", request: []) == #"{"cookie":null}"#)
    }

    @Test(arguments: ["*", "a, *", "a b", "a\"", (0...64).map { "h\($0)" }.joined(separator: ",")])
    func `a Vary that matches nothing, is invalid or too long counts as a star`(_ text: String) {
        #expect(vary(text, request: []) == "\"*\"")
    }

    @Test func `keys are compared by their bytes`() {
        let (one, two) = ("caf\u{E9}", "cafe\u{301}")
        #expect(one == two)
        #expect(CacheKey(url: "u", partition: one, vary: "{}") != CacheKey(url: "u", partition: two, vary: "{}"))
    }

    @Test func `the unique key of a command depends on URL, partition and headers, and has 70 bytes`() {
        func key(
            _ url: String, _ partition: String = "", _ headers: [(String, String)] = [], _ mode: FetchNetworkUse = .both
        )
            -> String
        {
            CacheKey.uniqueKey(
                of: FetchRequest(
                    url: url, partition: partition, headers: HeaderFields(headers.map(HTTPField.init)), mode: mode))
        }
        let keys = [
            key("http://o.test/a"), key("http://o.test/b"), key("http://o.test/a", "p"),
            key("http://o.test/a", "", [("Accept", "x")]), key("http://o.test/a", "", [("Accept", "y")]),
        ]
        #expect(Set(keys).count == keys.count && keys.allSatisfy { $0.utf8.count == 70 })
        #expect(key("u", "", [("Accept", "x")], .reload) == key("u", "", [("accept", " x")]))
    }
}
