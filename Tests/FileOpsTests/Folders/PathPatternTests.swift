import FileOps
import Operations
import Testing

@Suite struct PathPatternTests {
    @Test(arguments: [
        ("*.jpg", ["a.jpg", "x/y/b.jpg", ".jpg", "a.jpg/b"], ["a.jpeg", "ajpg", "a.jpg2"]),
        ("/*.jpg", ["a.jpg", "a.jpg/b"], ["x/a.jpg"]),
        ("a?.txt", ["ab.txt", "x/aé.txt", "a日.txt"], ["a.txt", "abc.txt", "a/.txt"]),
        ("raw/", ["raw/a", "x/raw/y/z"], ["raw", "x/raw", "xraw/a", "rawx/a"]),
        ("raw", ["raw", "raw/a", "x/raw"], ["rawx", "xraw"]),
        ("a/**/b", ["a/b", "a/x/b", "x/a/y/z/b", "a/b/c"], ["ab", "a/xb", "a/x/c"]),
        ("a/**", ["a/b", "a/b/c", "x/a/b"], ["a", "ab"]),
        ("/a**b", ["ab", "axb", "ax/yb"], ["ba", "x/ab", "a/bc"]),
        ("**", ["a", "a/b"], []), ("**/x", ["x", "a/x", "a/b/x"], ["ax", "a/xb"]),
        ("\\*\\{a", ["*{a", "x/*{a"], ["x{a"]), (".*", [".a", "x/.b/c"], ["a", "a.b"]),
        ("e\u{301}", ["e\u{301}"], ["é", "e"]),
        ("*a*a*a*a*a*a*a*b", ["aaaaaaaab"], [String(repeating: "a", count: 5000)]),
    ])
    func `a pattern matches paths by their bytes`(_ text: String, _ matching: [String], _ others: [String]) throws {
        let pattern = try PathPattern(text)
        for path in matching { #expect(pattern.matches(path.utf8), "\(text) \(path)") }
        for path in others { #expect(!pattern.matches(path.utf8), "\(text) \(path.prefix(40))") }
    }

    @Test(arguments: ["", "/", "a[b]", "*.{jpg,png}", "a\\"])
    func `a pattern that would not match what it seems to is refused`(_ text: String) {
        #expect(throws: PayloadError.self) { try PathPattern(text) }
    }

    @Test func `a file is taken where a pattern includes it and none excludes it`() throws {
        let filter = try PathFilter(including: ["*.jpg", "docs/"], excluding: ["raw/", "*.tmp.jpg"])
        for path in ["a.jpg", "x/b.jpg", "docs/c.txt"] { #expect(filter.takes(path.utf8), "\(path)") }
        for path in ["a.png", "raw/a.jpg", "docs/raw/a", "b.tmp.jpg"] { #expect(!filter.takes(path.utf8), "\(path)") }
        #expect(try PathFilter().takes("a".utf8))
    }

    @Test(arguments: [
        ("raw/", "x/raw", true), ("raw", "raw", true), ("raw/**", "x/raw", true), ("raw/*", "raw", false),
        ("*.jpg", "x", false), ("/raw/", "x/raw", false), ("**", "x", true), ("raw/", "raw/deep", true),
        ("a/**/b", "a", false),
    ])
    func `a folder is not read where all below it is excluded`(_ pattern: String, _ folder: String, _ isSkipped: Bool)
        throws
    {
        #expect(try PathFilter(excluding: [pattern]).skips(folder: folder.utf8) == isSkipped)
    }
}
