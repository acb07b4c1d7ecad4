import Commands
import Operations
import TestSupport
import Testing

@testable import FileOps
@testable import Transfers

@Suite struct DownloadPayloadTests {
    private static let sha256 = "sha256:" + String(repeating: "0a", count: 32)

    private static func members(_ more: (String, JSONValue)...) -> JSONValue {
        let given = Set(more.map(\.0))
        let base: [(String, JSONValue)] = [("url", "https://h/d/a.mp4"), ("to", "/data/a.mp4")]
        return .object((base.filter { !given.contains($0.0) } + more).map { .init($0.0, $0.1) })
    }

    @Test func `url and to are enough`() throws {
        let payload = try DownloadPayload(Self.members())
        #expect(payload.url.text == "https://h/d/a.mp4")
        #expect(payload.to == "/data/a.mp4")
        #expect(payload.headers.isEmpty && payload.name == .ofURL && payload.checksum == nil && payload.size == nil)
        #expect(
            payload.overwrite == .replace && payload.mode == nil && payload.newMode == 0o644 && payload.keepTime
                && !payload.ifChanged)
        #expect(payload.maxBytes == 0 && payload.ranges == 1)
        #expect(payload.json.text == #"{"url":"https://h/d/a.mp4","to":"/data/a.mp4"}"#)
    }

    static let accepted: [JSONValue] = [
        members(),
        members(("to", "relative/a")),
        members(("to", "a:b")),
        members(("to", "/data/"), ("name", nil)),
        members(("to", "/data/"), ("name", "server")),
        members(("to", "/data/"), ("name", "é.mp4")),
        members(("headers", ["X-Tag": "a", "Authorization": "Bearer b"])),
        members(("checksum", .string(sha256))),
        members(("checksum", .string("SHA1:" + String(repeating: "F", count: 40)))),
        members(("size", 0)),
        members(("size", 9_223_372_036_854_775_807)),
        members(("overwrite", "keep")),
        members(("overwrite", "fail")),
        members(("mode", "0600")),
        members(("mode", "000")),
        members(("keepTime", false)),
        members(("ifChanged", true)),
        members(("maxBytes", 10), ("size", 10)),
        members(("ranges", 1)),
    ]

    @Test(arguments: accepted) func `a payload is the same after writing and reading`(_ value: JSONValue) throws {
        let payload = try DownloadPayload(value)
        #expect(try DownloadPayload(JSONValue(parsing: payload.json.bytes)) == payload)
    }

    @Test func `a file URL is a path`() throws {
        #expect(try DownloadPayload(Self.members(("to", "file:///data/a%20b"))).to == "/data/a b")
        #expect(try DownloadPayload(Self.members(("to", "FILE:/data/"))).to == "/data/")
    }

    static let refused: [(JSONValue, PayloadError.Problem, String)] = [
        (.string("x"), .data, "the payload of a download must be an object, not a string"),
        (["to": "/a"], .data, "“url” is missing"),
        (["url": "https://h/a"], .data, "“to” is missing"),
        (members(("urls", "x")), .data, "unknown key “urls”"),
        (members(("url", 1)), .data, "“url” must be a string, not a number"),
        (members(("url", "ftp://h/a")), .usage, "the scheme “ftp” is unknown"),
        (members(("url", .string("https://h/" + String(repeating: "a", count: 8183)))), .usage, "more than 8192 bytes"),
        (members(("to", "")), .data, "“to” is empty"),
        (members(("to", "/a\0b")), .data, "zero byte"),
        (members(("to", "https://h/a")), .data, "a URL with the scheme “https”"),
        (members(("to", "file://other/a")), .usage, "another host"),
        (members(("to", "/data/..")), .data, "does not name a file"),
        (members(("to", ".")), .data, "does not name a file"),
        (members(("name", "x")), .data, "“name” is only valid where “to” is a directory"),
        (members(("to", "/d/"), ("name", "a/b")), .data, "without a slash"),
        (members(("to", "/d/"), ("name", "..")), .data, "without a slash"),
        (members(("to", "/d/"), ("name", "")), .data, "without a slash"),
        (members(("to", "/d/"), ("name", .string(String(repeating: "a", count: 201)))), .data, "at most 200 bytes"),
        (members(("to", "/d/"), ("name", true)), .data, "“name” must be a string or null, not a boolean"),
        (members(("headers", "x")), .data, "“headers” must be an object"),
        (members(("headers", ["X": 1])), .data, "the header “X” in “headers” must be a string"),
        (members(("headers", ["X": "a", "x": "b"])), .data, "the header “x” occurs twice"),
        (members(("headers", ["Range": "bytes=0-1"])), .data, "is how a download resumes"),
        (members(("headers", ["if-range": "\"a\""])), .data, "is how a download resumes"),
        (members(("headers", ["Accept-Encoding": "gzip"])), .data, "is how a download resumes"),
        (members(("headers", ["If-None-Match": "\"a\""])), .data, "“ifChanged”"),
        (members(("headers", ["If-Modified-Since": "x"])), .data, "“ifChanged”"),
        (members(("headers", ["Host": "h"])), .data, "“Host”"),
        (members(("headers", ["X": .string(String(repeating: "a", count: 8193))])), .data, "8193 bytes"),
        (members(("headers", .object((0..<65).map { .init("X-\($0)", "a") }))), .data, "65 fields"),
        (members(("checksum", "sha256:00")), .data, "must have 64 hexadecimal digits"),
        (members(("checksum", .string("md5:" + String(repeating: "g", count: 32)))), .data, "32 hexadecimal digits"),
        (members(("checksum", "crc32c:00000000")), .data, "sha256, sha512, sha1 or md5"),
        (members(("checksum", "00")), .data, "sha256, sha512, sha1 or md5"),
        (members(("size", -1)), .data, "“size” must be a whole number from 0"),
        (members(("size", .number(1.5))), .data, "“size” must be a whole number"),
        (members(("overwrite", "always")), .data, "“replace”, “keep”, “fail” or “rename”"),
        (members(("mode", "888")), .data, "octal"),
        (members(("mode", "1777")), .data, "octal"),
        (members(("mode", 644)), .data, "“mode” must be a string"),
        (members(("keepTime", 1)), .data, "“keepTime” must be true or false"),
        (members(("ifChanged", "yes")), .data, "“ifChanged” must be true or false"),
        (members(("ifChanged", true), ("overwrite", "fail")), .data, "“overwrite” to be “replace”"),
        (members(("ifChanged", true), ("to", "/d/"), ("name", "server")), .data, "must not be “server”"),
        (members(("maxBytes", -1)), .data, "“maxBytes” must be a whole number"),
        (members(("maxBytes", 1), ("size", 2)), .data, "more than “maxBytes”"),
        (members(("ranges", 2)), .data, "“ranges” must be a whole number from 1 to 1"),
        (members(("url", "file:///a/")), .usage, "is a directory"),
        (members(("url", "file:///a"), ("headers", ["X-Tag": "a"])), .data, "not valid for a file: URL"),
    ]

    @Test(arguments: refused.indices) func `a payload is refused with a sentence`(_ index: Int) {
        let (value, problem, part) = Self.refused[index]
        do throws(PayloadError) {
            _ = try DownloadPayload(value)
            Issue.record("\(value.text) was accepted")
        } catch {
            #expect(error.problem == problem)
            #expect(error.message.contains(part), "\(error.message)")
        }
    }

    @Test func `random payloads are refused or read without a trap`() {
        var random = SeededRandom.announced("download payload")
        let keys = [
            "url", "to", "headers", "name", "checksum", "size", "overwrite", "mode", "keepTime", "ifChanged",
            "maxBytes",
            "ranges", "x",
        ]
        let values: [JSONValue] = [
            "https://h/a", "/a", "/a/", "..", "file:", "file:///", "://", "server", "", "0644", "sha256:", "md5:é", 1,
            -1,
            true, nil, [:], ["X": "a"], [1], .number(1e300), "keep", "\u{0}", "😀:/",
        ]
        for _ in RandomRounds("download payload", 2000...20_000) {
            let members = keys.filter { _ in random.chance(0.4) }.map { key in
                JSONValue.Member(key, values.randomElement(using: &random) ?? nil)
            }
            guard let payload = try? DownloadPayload(.object(members)) else { continue }
            #expect((try? DownloadPayload(payload.json)) == payload)
        }
    }

    @Test func `the target in a directory is named by the payload, the server or the URL`() throws {
        let field = "attachment; filename=\"../s.mp4\""
        let named = { (name: JSONValue) in
            try DownloadPayload(Self.members(("to", "/data/"), ("name", name))).target(contentDisposition: field)
        }
        #expect(try named(nil) == "/data/a.mp4")
        #expect(try named("server") == "/data/s.mp4")
        #expect(try named("n.mp4") == "/data/n.mp4")
        let server = try DownloadPayload(Self.members(("to", "/data/"), ("name", "server")))
        #expect(server.target(contentDisposition: nil) == "/data/a.mp4")
        #expect(server.target(contentDisposition: "inline") == "/data/a.mp4")
        #expect(try DownloadPayload(Self.members()).target(contentDisposition: field) == "/data/a.mp4")
    }
}
