import TestSupport
import Testing

@testable import FileOps
@testable import Transfers

@Suite struct DownloadNameTests {
    @Test(arguments: [
        ("https://h/d/a.mp4", "a.mp4"), ("https://h/d/a.mp4?x=/y", "a.mp4"), ("https://h", "download"),
        ("https://h/", "download"), ("https://h/d/", "download"), ("https://h/a%20b", "a b"),
        ("https://h/%E6%97%A5%E6%9C%AC", "日本"), ("https://h/caf%E9", "caf%E9"),
        ("https://h/..%2F..%2Fetc%2Fpasswd", "passwd"),
        ("https://h/%2e%2e", "download"), ("https://h/.bashrc", "_bashrc"), ("https://h/a%00b", "a_b"),
        ("https://h/a%5Cb", "b"), ("https://h/a%2F", "download"),
    ])
    func `the last segment of the URL is the name`(_ url: String, _ name: String) throws {
        #expect(DownloadName.ofURL(try ResourceURL(url)) == name)
    }

    @Test(arguments: [
        ("attachment; filename=a.txt", "a.txt"), ("attachment; filename=\"a b.txt\"", "a b.txt"),
        ("ATTACHMENT; FILENAME=\"a.txt\"", "a.txt"), ("attachment;filename = a.txt ;x=y", "a.txt"),
        ("inline; filename=\"a;b=c.txt\"", "a;b=c.txt"), ("attachment; filename=\"a\\\"b\"", "a\"b"),
        ("attachment; filename=\"a\\\\b\"", "b"), ("attachment; filename=\"C:\\dir\\x.txt\"", "x.txt"),
        ("attachment; filename=my file.pdf", "my file.pdf"), ("attachment; filename=\"open", "open"),
        ("filename=a.txt", "a.txt"), ("attachment; filename=a; filename=b", "a"),
        ("attachment; filename=\"é.txt\"", "é.txt"), ("attachment; filename=\"%41\"", "%41"),
        // RFC 8187 before RFC 6266, in any order.
        ("attachment; filename=\"EURO rates\"; filename*=utf-8''%e2%82%ac%20rates", "€ rates"),
        ("attachment; filename*=UTF-8'en'%e2%82%ac; filename=a", "€"),
        ("attachment; filename*=iso-8859-1'en'%A3%20rates", "£ rates"),
        ("attachment; filename*=UTF-8''a%2Fb; filename=c", "b"),
        // A malformed extended value leaves the plain one.
        ("attachment; filename*=UTF-8''%ff; filename=a", "a"), ("attachment; filename*=UTF-8''%4; filename=a", "a"),
        ("attachment; filename*=koi8-r''x; filename=a", "a"), ("attachment; filename*=x; filename=a", "a"),
        ("attachment; filename*=; filename=a", "a"),
        // Traversal, by every way.
        ("attachment; filename=\"../../etc/passwd\"", "passwd"),
        ("attachment; filename=\"..\\..\\evil.exe\"", "evil.exe"),
        ("attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", "passwd"),
        ("attachment; filename*=UTF-8''..%5C..%5Cevil", "evil"), ("attachment; filename=\"/etc/passwd\"", "passwd"),
        ("attachment; filename=\"..\"", "download"), ("attachment; filename=\".\"", "download"),
        ("attachment; filename=\"\"", "download"), ("attachment; filename=\"a/\"", "download"),
        ("attachment; filename=\".ssh\"", "_ssh"), ("attachment; filename=\"...\"", "___"),
        ("attachment; filename=\" .profile \"", "_profile"), ("attachment; filename*=UTF-8''a%00b%0Ac", "a_b_c"),
        ("attachment; filename*=UTF-8''a%E2%80%AEgpj.exe", "a_gpj.exe"),
        ("attachment; filename*=UTF-8''a%C2%85b", "a_b"),
    ])
    func `the name of the server is safe`(_ field: String, _ name: String) {
        #expect(DownloadName.ofServer(contentDisposition: field) == name)
    }

    @Test(arguments: ["", "attachment", "attachment; size=1", ";;;", "filename", "attachment; filename*=x"])
    func `a field without a name has none`(_ field: String) {
        #expect(DownloadName.ofServer(contentDisposition: field) == nil)
    }

    @Test func `a slash before a combining mark is a slash`() {
        #expect(DownloadName.sanitised("../a/\u{301}b") == "\u{301}b")
        #expect(DownloadName.sanitised("a\\\u{301}") == "\u{301}")
        #expect(DownloadName.sanitised(".\u{301}a") == "_\u{301}a")
    }

    @Test func `a long name is cut at a character`() {
        #expect(DownloadName.sanitised(String(repeating: "a", count: 300)).utf8.count == 200)
        #expect(DownloadName.sanitised(String(repeating: "€", count: 100)) == String(repeating: "€", count: 66))
        #expect(DownloadName.sanitised(String(repeating: "👩‍👩‍👧", count: 50)) == String(repeating: "👩‍👩‍👧", count: 11))
        // One character of 401 bytes is cut within.
        let name = DownloadName.sanitised("a" + String(repeating: "\u{301}", count: 200))
        #expect(name.utf8.count == 199)
        #expect(name.utf8.first == UInt8(ascii: "a"))
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `every name is a file in its directory`() {
        var random = SeededRandom.announced("download names")
        let parts = [
            "attachment", ";", "filename", "filename*", "=", "\"", "\\", "/", "..", ".", "UTF-8''", "iso-8859-1'x'",
            "%2F",
            "%00", "%ff", "%e2%82%ac", "a", "é", "\u{301}", "\u{202E}", " ", "\t", "\n", "\u{0}", "'", "%",
            String(repeating: "x", count: 150), "👩‍👩‍👧",
        ]
        for _ in RandomRounds("download names", 3000...30_000) {
            let count = random.number(in: 0..<12)
            let text = (0..<count).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
            for name in [DownloadName.ofServer(contentDisposition: text), DownloadName.sanitised(text)] {
                guard let name else { continue }
                #expect((1...DownloadName.maxBytes).contains(name.utf8.count))
                #expect(!name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") || $0 < 0x20 })
                #expect(name.utf8.first != UInt8(ascii: "."))
            }
        }
    }
}
