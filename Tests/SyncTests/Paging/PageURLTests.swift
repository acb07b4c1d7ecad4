import Testing

@testable import Sync
@testable import Transfers

@Suite struct PageURLTests {
    private static let base = "https://h.example/a/b?x=1&page=2"

    static let references: [(String, String?)] = [
        ("https://h.example/c?page=3", "https://h.example/c?page=3"), ("/c?page=3", "https://h.example/c?page=3"),
        ("?page=3", "https://h.example/a/b?page=3"), ("c", "https://h.example/a/c"), ("../c", "https://h.example/c"),
        ("//h.example/c", "https://h.example/c"), ("", base), (" /c ", "https://h.example/c"),
        ("/c#top", "https://h.example/c"),
        // Many servers do not encode these.
        (
            "/c?page[number]=3&q=a b|c\"<>^`{}\\",
            "https://h.example/c?page%5Bnumber%5D=3&q=a%20b%7Cc%22%3C%3E%5E%60%7B%7D%5C"
        ),
        ("/é?q=日", "https://h.example/%C3%A9?q=%E6%97%A5"), ("/c?q=100%", nil),
        ("/c?q=%2f%E9", "https://h.example/c?q=%2f%E9"),
        ("https://[::1]:8080/c[0]", "https://[::1]:8080/c%5B0%5D"),
        // Not usable.
        ("ftp://h/c", nil), ("https://", nil), ("https://user@h/c", nil), ("/a\nb", "https://h.example/a%0Ab"),
        ("javascript:alert(1)", nil),
        ("/" + String(repeating: "x", count: 8192), nil), ("https://h:99999/", nil),
    ]

    @Test(arguments: references.indices)
    func `a reference in an answer becomes a URL`(index: Int) throws {
        let (reference, url) = Self.references[index]
        #expect(try ResourceURL(Self.base).page(reference)?.text == url)
    }

    static let parameters: [(String, String, String, String?)] = [
        ("https://h/a", "page", "2", "https://h/a?page=2"), ("https://h/a?", "page", "2", "https://h/a?page=2"),
        ("https://h/a?x=1", "page", "2", "https://h/a?x=1&page=2"),
        ("https://h/a?page=1&x=%2F+%20&&y", "page", "2", "https://h/a?page=2&x=%2F+%20&y"),
        ("https://h/a?page=1&x=1&page=7", "page", "2", "https://h/a?page=2&x=1"),
        ("https://h/a?pages=1&Page=1", "page", "2", "https://h/a?pages=1&Page=1&page=2"),
        ("https://h/a?p%61ge=1", "page", "2", "https://h/a?page=2"),
        ("https://h/a?page", "page", "2", "https://h/a?page=2"),
        ("https://h/a", "page[number]", "a b&c=d/é", "https://h/a?page%5Bnumber%5D=a%20b%26c%3Dd%2F%C3%A9"),
        ("https://h/a?page%5Bnumber%5D=1", "page[number]", "2", "https://h/a?page%5Bnumber%5D=2"),
        ("https://h/a?a+b=1", "a b", "2", "https://h/a?a%20b=2"), ("https://h", "c", "", "https://h?c="),
        ("https://h/a", "c", String(repeating: "x", count: 8192), nil),
    ]

    @Test(arguments: parameters.indices)
    func `a parameter is set, and the rest of the query stays as it is`(index: Int) throws {
        let (url, name, value, result) = Self.parameters[index]
        #expect(try ResourceURL(url).setting(name, to: value)?.text == result)
    }
}
