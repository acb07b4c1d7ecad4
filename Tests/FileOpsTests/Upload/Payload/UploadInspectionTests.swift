import Commands
import FileOps
import Foundation
import Operations
import TestSupport
import Testing

/// The inspection of payloads by `submit` and `put`, before a command is stored.
@Suite struct UploadInspectionTests {
    private func withFile(_ name: String = "a.txt", _ body: (UploadHarness, String) throws -> Void) throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        try body(harness, try harness.directory.file(name, Array("hello".utf8)))
    }

    private func refusal(_ harness: UploadHarness, _ payload: JSONValue) -> PayloadError? {
        do {
            _ = try harness.operation.inspect(payload)
            return nil
        } catch {
            return error
        }
    }

    @Test func `the inspection returns destination, size and source identity`() throws {
        try withFile { (harness, file) throws in
            let attributes = try harness.operation.inspect([
                "file": .string(file), "to": "HTTP://Media.Example.com/in/",
            ])
            #expect(attributes.destination == Destination("http://media.example.com:80"))
            #expect(attributes.total == 5)
            #expect(attributes.idempotent)
            let payload = try #require(attributes.payload)
            #expect(payload["to"]?.string == "http://Media.Example.com/in/a.txt")
            #expect(payload["method"]?.string == "PUT")
            #expect(payload["protocol"]?.string == "put")
            #expect(payload["removeSource"]?.bool == false)
            #expect(payload["source"]?["size"]?.integer == 5)
            for key in ["mtime", "inode", "device"] { #expect((payload["source"]?[key]?.integer ?? 0) > 0) }
            // A second inspection of the stored payload has the same result.
            #expect(try harness.operation.inspect(payload) == attributes)
        }
    }

    @Test func `the inspection of a large file leaves its protocol and its URL open`() throws {
        try withFile { (harness, file) throws in
            func payload(_ size: off_t, _ to: String, _ more: [JSONValue.Member] = []) throws -> JSONValue {
                #expect(truncate(file, size) == 0)
                let attributes = try harness.operation.inspect(
                    .object([.init("file", .string(file)), .init("to", .string(to))] + more))
                let payload = try #require(attributes.payload)
                #expect(attributes.idempotent)
                #expect(try harness.operation.inspect(payload) == attributes)
                return payload
            }
            let open = try payload(1 << 20, "http://h/in/")
            #expect(open["protocol"] == nil && open["method"] == nil)
            #expect(open["to"]?.string == "http://h/in/")
            for (size, url, more) in [
                (off_t(1 << 20) - 1, "http://h/in/", []), (off_t(1 << 20), "http://h/in/", [("method", "PUT")]),
                (off_t(1 << 20), "file:///in/", []), (off_t(1 << 20), "http://h/in/", [("protocol", "put")]),
            ] as [(off_t, String, [(String, JSONValue)])] {
                let decided = try payload(size, url, more.map { .init($0.0, $0.1) })
                #expect(decided["protocol"]?.string == "put" && decided["method"]?.string == "PUT")
                #expect(decided["to"]?.string == url + "a.txt")
            }
            let tus = try payload(5, "http://h/in/", [.init("protocol", "tus")])
            #expect(tus["protocol"]?.string == "tus" && tus["method"] == nil)
            #expect(tus["to"]?.string == "http://h/in/")
            let range = try payload(5, "http://h/in/", [.init("protocol", "contentRange"), .init("name", "b c")])
            #expect(range["to"]?.string == "http://h/in/b%20c")
        }
    }

    @Test(arguments: ["tus", "contentRange"])
    func `a protocol that contradicts method or URL is refused`(_ name: String) throws {
        try withFile { (harness, file) throws in
            let base: [JSONValue.Member] = [.init("file", .string(file)), .init("protocol", .string(name))]
            let posted = refusal(harness, .object(base + [.init("to", "http://h/x"), .init("method", "POST")]))
            #expect(posted?.problem == .data)
            #expect(posted?.message.contains("“method”") == true)
            let copied = refusal(harness, .object(base + [.init("to", "file:///x")]))
            #expect(copied?.problem == .data)
            #expect(copied?.message.contains("“protocol”") == true)
        }
    }

    @Test func `a relative path becomes absolute`() throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        // The path leads from the working directory to the root and from there to the file.
        let here = FileManager.default.currentDirectoryPath
        let file = try harness.directory.file("a", [1])
        let up = String(repeating: "../", count: here.split(separator: "/").count)
        let payload = try harness.operation.inspect(["file": .string(up + file.dropFirst()), "to": "http://h/x"])
            .payload
        #expect(payload?["file"]?.string == "\(here)/\(up)\(file.dropFirst())")
    }

    @Test func `PUT and file URLs are idempotent, and POST is not`() throws {
        try withFile { (harness, file) throws in
            func isIdempotent(_ url: String, _ method: String) throws -> Bool {
                try harness.operation.inspect(["file": .string(file), "to": .string(url), "method": .string(method)])
                    .idempotent
            }
            #expect(try isIdempotent("http://h/x", "PUT"))
            #expect(try isIdempotent("http://h/x", "put"))
            #expect(try isIdempotent("file:///x", "PUT"))
            #expect(try !isIdempotent("http://h/x", "POST"))
        }
    }

    @Test(arguments: [
        ("a b.txt", "a%20b.txt"), ("ü.txt", "%C3%BC.txt"), ("日本", "%E6%97%A5%E6%9C%AC"), ("#1.txt", "%231.txt"),
        ("what?", "what%3F"), ("100%.csv", "100%25.csv"), ("a&b=c+d;e@f:g,h", "a%26b%3Dc%2Bd%3Be%40f%3Ag%2Ch"),
        ("~x_y-z.9", "~x_y-z.9"), ("a\"<>\\^`{|}", "a%22%3C%3E%5C%5E%60%7B%7C%7D"), ("line\nbreak", "line%0Abreak"),
        ("%2F", "%252F"),
    ])
    func `a special name is encoded when it is appended to a directory URL`(_ name: String, _ encoded: String) throws {
        try withFile(name) { (harness, file) throws in
            func url(_ to: String) throws -> String? {
                try harness.operation.inspect(["file": .string(file), "to": .string(to)]).payload?["to"]?.string
            }
            #expect(try url("http://h/in/") == "http://h/in/\(encoded)")
            #expect(try url("http://h/in/?sign=a/b") == "http://h/in/\(encoded)?sign=a/b")
            #expect(try url("file:///in/") == "file:///in/\(encoded)")
            #expect(try url("http://h/in") == "http://h/in")
        }
    }

    @Test(arguments: [
        "", "x", "/path", "http:", "http:/h/x", "http://", "http:///x", "ftp://h/x", "s3://bucket/x", "http://h:0/x",
        "http://h:99999/x", "http://h:a/x", "http://a b/x", "http://h/a b", "http://h/ü", "http://h/%zz", "http://h/%2",
        "http://h/x#y", "http://user:secret@h/x", "http://[::1/x", "http://h/a\r\nX: y", "http://h/a\u{0}", "file:x",
        "file://other/x", "file:///x?y", "file:///a%00b", "file:///%ff", "://h/x", "1http://h/x", "http://h%41/x",
        "http://h/a[1]", "http://h/a?b[]=c", "file:///a[1]", "http://h/a b?sign=secret", "http://h/x#token=secret",
        "http://h/x?sign=secret#y", "user:secret@h/x", "http:user:secret@h/x",
    ])
    func `an invalid URL is refused`(_ url: String) throws {
        try withFile { (harness, file) throws in
            let error = try #require(refusal(harness, ["file": .string(file), "to": .string(url)]))
            #expect(error.problem == .usage)
            #expect(!error.message.contains("secret"))
            #expect(!error.message.contains("\n"))
        }
    }

    @Test(arguments: [
        "http://h", "http://h/", "https://h/x", "http://[::1]:8080/x", "http://127.0.0.1/x", "http://a_b.c/x",
        "http://h/a%20b?c=d/e?f", "http://h?x=y", "file:/x", "file:///x", "file://localhost/x", "HTTPS://H/x",
    ])
    func `a valid URL is accepted`(_ url: String) throws {
        try withFile { (harness, file) throws in
            #expect(refusal(harness, ["file": .string(file), "to": .string(url)]) == nil)
        }
    }

    @Test func `an unknown or invalid key of a payload is named`() throws {
        try withFile { (harness, file) throws in
            let base: [JSONValue.Member] = [.init("file", .string(file)), .init("to", "http://h/x")]
            let bad: [(String, JSONValue)] = [
                ("target", "x"), ("File", "x"), ("method", "DELETE"), ("method", 1), ("headers", "x"),
                ("headers", ["A": 1]),
                ("protocol", "s3"), ("protocol", 1), ("protocol", "TUS"), ("name", ""), ("name", "a/b"), ("name", ".."),
                ("name", "a\u{0}b"), ("name", 1), ("removeSource", "yes"), ("removeSource", 1), ("source", "x"),
                ("source", ["size": 5]), ("source", ["size": 5, "mtime": 1, "inode": 1, "hash": 1]),
            ]
            for (key, value) in bad {
                let error = try #require(refusal(harness, .object(base + [.init(key, value)])), "\(key): \(value.text)")
                #expect(error.problem == .data)
                #expect(error.message.contains("“\(key)”"), "\(error.message)")
            }
            #expect(refusal(harness, ["to": "http://h/x"])?.message.contains("“file”") == true)
            #expect(refusal(harness, ["file": .string(file)])?.message.contains("“to”") == true)
            #expect(refusal(harness, ["file": "", "to": "http://h/x"])?.problem == .data)
            #expect(refusal(harness, ["file": "a\u{0}b", "to": "http://h/x"])?.problem == .data)
            #expect(refusal(harness, "text")?.problem == .data)
            #expect(refusal(harness, ["file": .string(file), "to": "file:///x", "method": "POST"])?.problem == .data)
            #expect(
                refusal(harness, ["file": .string(file), "to": "file:///x", "headers": ["A": "b"]])?.problem == .data)
        }
    }

    @Test(arguments: [
        ("Host", "x"), ("content-length", "1"), ("Transfer-Encoding", "chunked"), ("Connection", "close"), ("TE", "x"),
        ("Expect", "100-continue"), ("Idempotency-Key", "x"), ("Upgrade", "h2c"), ("Proxy-Authorization", "x"),
        ("", "x"),
        ("A B", "x"), ("A:", "x"), ("Ä", "x"), ("A", "x\r\nB: y"), ("A", "x\ny"), ("A", "\u{0}"), ("A\r\nB", "x"),
    ])
    func `a header that would break the request is refused`(_ name: String, _ value: String) throws {
        try withFile { (harness, file) throws in
            let headers = JSONValue.object([.init(name, .string(value))])
            let error = refusal(harness, ["file": .string(file), "to": "http://h/x", "headers": headers])
            #expect(error?.problem == .data)
        }
    }

    @Test func `a repeated header is refused`() throws {
        try withFile { (harness, file) throws in
            let headers = JSONValue.object([.init("X-A", "1"), .init("x-a", "2")])
            #expect(
                refusal(harness, ["file": .string(file), "to": "http://h/x", "headers": headers])?.problem == .data)
        }
    }

    @Test func `a source that is missing, a directory or a pipe is refused`() throws {
        try withFile { (harness, _) throws in
            let base = harness.directory.path
            #expect(mkfifo("\(base)/pipe", 0o600) == 0)
            for (file, word) in [
                ("missing", "does not exist"), ("", "directory"), ("pipe", "regular"), ("a.txt/x", "exist"),
                ("caf\u{FFFD}", "does not exist; its name is not valid UTF-8"),
            ] {
                let error = try #require(refusal(harness, ["file": .string("\(base)/\(file)"), "to": "http://h/x"]))
                #expect(error.problem == .source)
                #expect(error.message.contains(word), "\(error.message)")
            }
            #expect(refusal(harness, ["file": "/dev/null", "to": "http://h/x"])?.problem == .source)
        }
    }

    @Test(.enabled(if: geteuid() != 0, "root may read every file"))
    func `a source without read permission is refused`() throws {
        try withFile { (harness, file) throws in
            chmod(file, 0)
            #expect(refusal(harness, ["file": .string(file), "to": "http://h/x"])?.problem == .source)
        }
    }

    @Test func `a source that differs from the payload is refused`() throws {
        try withFile { (harness, file) throws in
            let payload = try #require(
                try harness.operation.inspect(["file": .string(file), "to": "http://h/x"]).payload)
            try Data("other words".utf8).write(to: URL(fileURLWithPath: file))
            let error = refusal(harness, payload)
            #expect(error?.problem == .source)
        }
    }
}
