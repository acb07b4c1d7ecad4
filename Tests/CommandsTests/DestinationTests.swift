import Commands
import TestSupport
import Testing

struct DestinationTests {
    @Test(arguments: [
        ("http://example.org/a/b", "http://example.org:80"), ("https://example.org", "https://example.org:443"),
        ("HTTP://Example.ORG:8080/x?y#z", "http://example.org:8080"), ("http://h?q", "http://h:80"),
        ("http://h#f", "http://h:80"), ("http://user:secret@h:81/", "http://h:81"),
        ("http://a@b@h/", "http://h:80"), ("http://[::1]/", "http://[::1]:80"),
        ("https://[2001:DB8::1]:8443/x", "https://[2001:db8::1]:8443"), ("http://127.0.0.1:1/", "http://127.0.0.1:1"),
        ("http://h:65535", "http://h:65535"), ("file:///tmp/x", "file://localhost"),
        ("file:/tmp/x", "file://localhost"), ("file://localhost", "file://localhost"),
        ("file://localhost/", "file://localhost"), ("file://localhost/mnt/a%20b", "file://localhost/mnt/a%20b"),
        ("file://localhost/a b", "file://localhost"),
        ("FILE://elsewhere/x", "file://localhost"), ("ftp://h:21/x", "ftp://h:21"),
        ("svn+ssh://h:22", "svn+ssh://h:22"),
    ])
    func `the destination of a URL is its scheme, host and port`(url: String, destination: String) {
        #expect(Destination(url)?.text == destination)
    }

    @Test func `a separator before a combining mark separates`() {
        #expect(Destination("http://h/\u{301}@other/")?.text == "http://h:80")
        #expect(Destination("http://h?\u{301}@other/")?.text == "http://h:80")
    }

    @Test(arguments: [
        "", ":", "//", "http", "http:", "http:/", "http://", "http:///path", "http://:80/", "http://h:0/",
        "http://h:65536/",
        "http://h:port/", "http://h:-1/", "http://h:80:80/", "http://[::1/", "http://[::1]80/", "http://[]x/",
        "ftp://h/",
        "http//h", "://h/", "1http://h/", "-a://h:1", "ht tp://h/", "http://h h/", "http://h\u{0}/", "http://user@/",
        "http://h:9999999999999999999999/", "example.org", "/tmp/x", "http://h:+80/",
        "http://é/", "http://e\u{301}/", "http:/\u{301}/h/",
    ])
    func `a text that is not a URL with a host has no destination`(url: String) {
        #expect(Destination(url) == nil, "\(Destination(url)?.text ?? "")")
    }

    @Test func `any text is read without a trap`() {
        var random = SeededRandom.announced("Destination")
        let pieces = [
            "http", "https", "file", ":", "/", "//", "[", "]", "@", "80", "::1", "h", "é", "\u{0}", " ", "?", "#", "-",
        ]
        for _ in RandomRounds("Destination", 5000...50_000) {
            var url = ""
            for _ in 0..<random.number(in: 0..<10) { url += pieces[random.number(in: 0..<pieces.count)] }
            if let destination = Destination(url), destination != .file {
                // The text of a destination is a URL of the same destination.
                #expect(Destination(destination.text) == destination, "\(url)")
            }
        }
    }

    @Test func `each file system is a destination`() {
        #expect(Destination.file(mountPoint: "/") == .file)
        let disk = Destination.file(mountPoint: "/mnt/é disk\n%")
        #expect(disk.text == "file://localhost/mnt/%c3%a9%20disk%0a%25" && disk.isFile)
        #expect(Destination(disk.text) == disk)
        #expect(Destination(origin: disk.text) == nil)
    }

    @Test func `an IPv6 host gets brackets, once`() {
        #expect(Destination(scheme: "HTTP", host: "::1", port: 8080).text == "http://[::1]:8080")
        #expect(Destination(scheme: "http", host: "[::1]", port: 8080).text == "http://[::1]:8080")
    }

    @Test func `the empty destination prints as none`() {
        #expect(Destination.none.description == "none")
        #expect(Destination.none.text.isEmpty)
    }
}
