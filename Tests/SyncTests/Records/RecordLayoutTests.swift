import Commands
import Testing

@testable import Sync

/// The records of operations.md, section 5.4: their keys, versions and flags of deletion.
@Suite struct RecordLayoutTests {
    private func layout(_ key: [String] = ["/id"], version: String? = nil, deleted: String? = nil) throws
        -> RecordLayout
    {
        RecordLayout(
            key: try key.map { try JSONPointer($0) }, version: try version.map { try JSONPointer($0) },
            deleted: try deleted.map { try JSONPointer($0) })
    }

    private func read(_ layout: RecordLayout, _ record: String, _ list: ScanPlan.List = .items) throws
        -> RecordLayout.Reading
    {
        try read(layout, Array(record.utf8), list)
    }

    private func read(_ layout: RecordLayout, _ record: [UInt8], _ list: ScanPlan.List) throws -> RecordLayout.Reading {
        var plan = ScanPlan()
        plan.items = try JSONPointer("/data")
        plan.deletedItems = try JSONPointer("/gone")
        plan.fields = layout.fields
        plan.maxRecord = 2000
        var scanner = RecordScanner(plan)
        let names = list == .items ? ("data", "gone") : ("gone", "data")
        scanner.feed(Array("{\"\(names.1)\":[],\"\(names.0)\":[".utf8) + record + Array("]}".utf8))
        return layout.read(try #require(try scanner.next()))
    }

    private func facts(_ key: String, _ version: RecordVersion? = nil, tombstone: Bool = false) throws
        -> RecordLayout.Reading
    {
        .record(.init(key: try RecordKey([Array(key.utf8)[...]]), version: version, isTombstone: tombstone))
    }

    private func reject(_ key: String?, _ problem: RecordProblem) throws -> RecordLayout.Reading {
        .reject(key: try key.map { try RecordKey([Array($0.utf8)[...]]) }, problem)
    }

    @Test func `a record is read by its key`() throws {
        #expect(try read(layout(), #"{"id":1}"#) == facts("1"))
        #expect(try read(layout(["/a/b"]), #"{"a":{"b":"x"}}"#) == facts("\"x\""))
        let both = try layout(["/a", "/b"])
        let key = try RecordKey([Array("1".utf8)[...], Array("\"x\"".utf8)[...]])
        #expect(try read(both, #"{"b":"x","a":1}"#) == .record(.init(key: key)))
    }

    static let rejects: [(String, RecordProblem)] = [
        ("{}", .key(field: "“/id”", .missing)), (#"{"id":null}"#, .key(field: "“/id”", .unsuitable("null"))),
        (#"{"id":{"a":1}}"#, .key(field: "“/id”", .unsuitable("an object"))),
        (#"{"id":""}"#, .key(field: "“/id”", .empty)),
        (#"{"id":"a\u0000"}"#, .key(field: "“/id”", .containsNUL)),
        (#"{"id":true}"#, .key(field: "“/id”", .unsuitable("a boolean"))),
        ("{\"id\":\"\(String(repeating: "x", count: 1025))\"}", .key(field: "“/id”", .tooLong)),
        ("1", .notAnObject("a number")),
        ("\"x\"", .notAnObject("a string")), ("null", .notAnObject("null")), ("[{\"id\":1}]", .notAnObject("an array")),
        ("true", .notAnObject("a boolean")),
    ]

    @Test(arguments: rejects.indices)
    func `a record without a usable key is rejected`(index: Int) throws {
        let (record, problem) = Self.rejects[index]
        #expect(try read(layout(), record) == reject(nil, problem))
        #expect(!problem.reason.isEmpty)
    }

    @Test func `scalars are their own key with the empty pointer`() throws {
        let layout = try layout([""])
        #expect(try read(layout, "17") == facts("17"))
        #expect(try read(layout, "\"x\"") == facts("\"x\""))
        #expect(try read(layout, "null") == reject(nil, .key(field: "the whole value", .unsuitable("null"))))
        #expect(try read(layout, #"{"id":1}"#) == reject(nil, .key(field: "the whole value", .unsuitable("an object"))))
    }

    @Test func `a rejected record has its key where that is certain`() throws {
        let layout = try layout()
        let duplicate = RecordProblem.duplicateName("x")
        #expect(try read(layout, #"{"id":1,"x":1,"x":2}"#) == reject("1", duplicate))
        #expect(try read(layout, #"{"id":1,"id":2}"#) == reject(nil, .duplicateName("id")))
        #expect(try read(layout, #"{"id":1,"x":"\ud800"}"#) == reject("1", .loneSurrogate))
        #expect(try read(layout, #"{"id":"\ud800"}"#) == reject(nil, .loneSurrogate))
        #expect(
            try read(layout, Array(#"{"id":"a","x":""#.utf8) + [0xFF] + Array("\"}".utf8), .items)
                == reject("\"a\"", .invalidUTF8))
        #expect(
            try read(layout, Array(#"{"x":1,"id":""#.utf8) + [0xFF] + Array("\"}".utf8), .items)
                == reject(nil, .invalidUTF8))
        #expect(
            try read(layout, #"{"id":1,"x":NaN}"#)
                == reject(nil, .syntax(at: 12, "no JSON value starts with this character")))
        let large = "{\"id\":1,\"x\":\"\(String(repeating: "x", count: 3000))\"}"
        #expect(try read(layout, large) == reject(nil, .tooLarge(bytes: large.utf8.count, max: 2000)))
    }

    @Test func `true marks a record as deleted`() throws {
        let layout = try layout(version: "/v", deleted: "/deleted")
        #expect(try read(layout, #"{"id":1,"deleted":true}"#) == facts("1", tombstone: true))
        for text in [#"{"id":1}"#, #"{"id":1,"deleted":false}"#, #"{"id":1,"deleted":null}"#] {
            #expect(try read(layout, text) == facts("1"))
        }
        for (text, kind) in [("1", "a number"), ("\"true\"", "a string"), ("{}", "an object")] {
            #expect(
                try read(layout, "{\"id\":1,\"deleted\":\(text)}")
                    == reject("1", .deletedFlag(field: "“/deleted”", kind)))
        }
    }

    @Test func `a version is read, and one that has no order is refused with the flag to change`() throws {
        let layout = try layout(version: "/v", deleted: "/d")
        #expect(try read(layout, #"{"id":1,"v":7,"d":false}"#) == facts("1", RecordVersion(stored: "7")))
        guard case .refusal(let reason) = try read(layout, #"{"id":1,"v":"new"}"#) else {
            Issue.record("a word has no order")
            return
        }
        #expect(reason.contains("“/v”") && reason.contains("“new”") && reason.contains("“merge”"))
    }

    @Test func `a list of deleted keys has keys, or objects with the key`() throws {
        let layout = try layout(version: "/v")
        #expect(try read(layout, "17", .deletedItems) == facts("17", tombstone: true))
        #expect(try read(layout, #"{"id":17}"#, .deletedItems) == facts("17", tombstone: true))
        #expect(try read(layout, "null", .deletedItems) == reject(nil, .key(field: "“/id”", .unsuitable("null"))))
        #expect(try read(layout, "[17]", .deletedItems) == reject(nil, .notAnObject("an array")))
        let both = try self.layout(["/a", "/b"])
        #expect(try read(both, "17", .deletedItems) == reject(nil, .notAnObject("a number")))
    }
}
