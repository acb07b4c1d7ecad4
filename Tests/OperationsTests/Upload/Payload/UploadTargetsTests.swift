import Commands
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

    @Test func `uploads to a tus endpoint never collide`() throws {
        #expect(try collision(["/a/x", "/b/x"], to: "http://h/files/", [.init("protocol", "tus")]) == nil)
    }
}
