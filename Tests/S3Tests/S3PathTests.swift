import Commands
import Testing

@testable import S3

@Suite struct S3PathTests {
    /// Measured with botocore (operations.md, section 7).
    @Test(arguments: [
        ("a b+c", "a%20b%2Bc"), ("a/../b", "a/../b"), ("./a", "./a"), ("a//b", "a//b"),
        ("~x*()'!@=&$,;:", "~x%2A%28%29%27%21%40%3D%26%24%2C%3B%3A"), ("100%", "100%25"), ("a%2Fb", "a%252Fb"),
        ("日本", "%E6%97%A5%E6%9C%AC"), ("", ""), ("/", "/"), ("\u{0}\u{7F}", "%00%7F"), ("-._~", "-._~"),
        ("e\u{301}", "e%CC%81"), ("/\u{301}", "/%CC%81"),
    ])
    func `a key is encoded once, in upper case, and is not normalised`(_ key: String, _ encoded: String) {
        #expect(S3Path.encoded(key: key) == encoded)
    }

    @Test(arguments: [
        ("a/b", "a%2Fb"), ("a+b", "a%2Bb"), ("a b", "a%20b"), ("日", "%E6%97%A5"), ("~@(*=", "~%40%28%2A%3D"),
    ])
    func `a slash in a query is encoded, and a space is never a plus`(_ text: String, _ encoded: String) {
        #expect(S3Path.encoded(queryPart: text) == encoded)
    }

    @Test func `a query is sorted by its encoded names and then values`() {
        let items = [("uploads", ""), ("b", "2"), ("b", "10"), ("a-", "x"), ("a", "y"), ("B", ""), ("é", "")]
        #expect(
            S3Path.query(items.map { S3QueryItem($0.0, $0.1) }) == "%C3%A9=&B=&a=y&a-=x&b=10&b=2&uploads=")
        #expect(S3Path.target("/b/k", [S3QueryItem("uploads")]) == "/b/k?uploads=")
        #expect(S3Path.target("/b/k", []) == "/b/k")
    }
}
