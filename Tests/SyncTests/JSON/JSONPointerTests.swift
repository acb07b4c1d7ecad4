import Commands
import Testing

@testable import Sync

@Suite struct JSONPointerTests {
    /// RFC 6901, section 5.
    static let document = Array(
        #"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#.utf8)

    static let examples: [(String, JSONValue)] = [
        ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3), ("/g|h", 4),
        ("/i\\j", 5), ("/k\"l", 6), ("/ ", 7), ("/m~0n", 8),
    ]

    @Test(arguments: examples.indices)
    func `the examples of RFC 6901 refer to their values`(index: Int) throws {
        let (text, value) = Self.examples[index]
        let pointer = try JSONPointer(text)
        let document = try JSONValue(parsing: Self.document)
        #expect(pointer.value(in: document) == value)
        #expect(pointer.text == text)
        // The reader of records locates the same value in the bytes.
        var reader = RecordReader(locating: [pointer])
        #expect(reader.readWhole(Self.document[...]) == nil)
        let range = try #require(reader.fields[0])
        #expect(try JSONValue(parsing: Self.document[range]) == value)
    }

    @Test func `the empty pointer is the whole document`() throws {
        let document = try JSONValue(parsing: Self.document)
        #expect(try JSONPointer("").value(in: document) == document)
        #expect(try JSONPointer("") == .root)
    }

    @Test(arguments: [
        "/foo/2", "/foo/-", "/foo/01", "/foo/+1", "/foo/1e0", "/foo/ 0", "/foo/bar", "/foo/99999999999999999999",
        "/nope",
        "/foo/0/0", "//", "/FOO",
    ])
    func `a pointer to nothing has no value`(text: String) throws {
        let pointer = try JSONPointer(text)
        #expect(pointer.value(in: try JSONValue(parsing: Self.document)) == nil)
        var reader = RecordReader(locating: [pointer])
        #expect(reader.readWhole(Self.document[...]) == nil)
        #expect(reader.fields == [nil])
    }

    @Test(arguments: [
        "id", "#/id", "/a~", "/a~2", "/~~", "~0", String(repeating: "/a", count: 33),
        "/" + String(repeating: "x", count: 1024),
    ])
    func `a text that is not a pointer is refused with a sentence`(text: String) {
        let error = #expect(throws: JSONPointerError.self) { try JSONPointer(text) }
        #expect(error?.description.contains("is not a JSON Pointer: ") == true)
    }

    @Test func `an index also names a member, and names are compared by their bytes`() throws {
        let document = try JSONValue(parsing: Array(#"{"0":{"é":1},"e\u0301":2}"#.utf8))
        #expect(try JSONPointer("/0/é").value(in: document) == 1)
        #expect(try JSONPointer("/é").value(in: document) == nil)
        #expect(try JSONPointer("/e\u{301}").value(in: document) == 2)
        #expect(try JSONPointer("/é") != JSONPointer("/e\u{301}"))
    }

    @Test func `a pointer contains itself and the pointers within its value`() throws {
        let data = try JSONPointer("/data")
        #expect(data.contains(data))
        #expect(data.contains(try JSONPointer("/data/0/id")))
        #expect(!data.contains(try JSONPointer("/database")))
        #expect(!data.contains(.root))
        #expect(JSONPointer.root.contains(data))
    }
}
