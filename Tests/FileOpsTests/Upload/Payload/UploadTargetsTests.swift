import Commands
import FileOps
import Operations
import Testing

@Suite struct UploadTargetsTests {
    private func collision(_ files: [String], to: String, _ extra: [JSONValue.Member] = []) throws -> [Int]? {
        let payloads = files.map { file in
            JSONValue.object([.init("file", .string(file)), .init("to", .string(to))] + extra)
        }
        return try UploadTargets.collision(in: payloads).map { [$0.earlier, $0.later] }
    }

    @Test func `two files of one name collide in a directory, and any two at one URL`() throws {
        #expect(try collision(["/a/x", "/a/y", "/b/x"], to: "file:///o/") == [0, 2])
        #expect(try collision(["/a/x", "/b/y"], to: "http://h/o") == [0, 1])
        #expect(try collision(["/a/x", "/a/x"], to: "http://h/o/") == [0, 1])
        #expect(try collision(["/a/x", "/a/y", "/a/X"], to: "http://h/o/") == nil)
    }

    @Test func `names that look alike do not collide`() throws {
        #expect(try collision(["/a/é", "/a/e\u{301}"], to: "http://h/o/") == nil)
        #expect(try collision(["/a/\u{301}x", "/a/x"], to: "http://h/o/") == nil)
    }

    @Test func `a path is kept below a URL that ends in a slash, each of its names encoded`() throws {
        func target(_ to: String, _ path: String, _ more: [JSONValue.Member] = []) throws -> String? {
            let members: [JSONValue.Member] = [
                .init("file", "/d/x"), .init("to", .string(to)), .init("path", .string(path)),
            ]
            return try UploadTargets.target(of: .object(members + more), "upload")
        }
        #expect(try target("https://h/in/", "a b/ü/50%.txt") == "https://h/in/a%20b/%C3%BC/50%25.txt")
        #expect(try target("https://h/in/?sig=1", "a/b") == "https://h/in/a/b")
        #expect(try target("https://h/files/", "a/b", [.init("protocol", "tus")]) == nil)
        for path in ["", "/a", "a/", "a//b", "../a", "a/./b", "a/.."] {
            #expect(throws: PayloadError.self, "\(path)") { try target("https://h/in/", path) }
        }
    }

    @Test func `two files with one key of S3 collide`() throws {
        func put(_ file: String, _ key: String) -> JSONValue {
            [
                "file": .string(file), "endpoint": "https://s3.example.com", "bucket": "media", "key": .string(key),
            ]
        }
        let payloads = [put("/a/x", "in/"), put("/a/y", "in/"), put("/b/x", "in/x")]
        let collision = try UploadTargets.collision(in: payloads, "s3")
        #expect(collision?.earlier == 0 && collision?.later == 2)
        #expect(try UploadTargets.collision(in: Array(payloads.prefix(2)), "s3") == nil)
    }

    @Test func `uploads to a tus endpoint never collide`() throws {
        #expect(try collision(["/a/x", "/b/x"], to: "http://h/files/", [.init("protocol", "tus")]) == nil)
    }
}
