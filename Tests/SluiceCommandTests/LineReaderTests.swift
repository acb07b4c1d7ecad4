import Glibc
import TestSupport
import Testing

@testable import SluiceCommand

@Suite struct LineReaderTests {
    /// The lines of a file with this text.
    private func lines(_ text: String, limit: Int = 100) throws -> [String] {
        let place = try TemporaryDirectory("lines")
        defer { place.remove() }
        let descriptor = open(try place.file("lines", Array(text.utf8)), O_RDONLY)
        defer { close(descriptor) }
        var reader = LineReader(descriptor: descriptor, limit: limit)
        var lines: [String] = []
        while true {
            switch try reader.next() {
            case .line(let bytes): lines.append(String(decoding: bytes, as: UTF8.self))
            case .tooLong: return lines + ["too long"]
            case .end: return lines
            }
        }
    }

    @Test func `lines end at line feeds and at the end of the file`() throws {
        #expect(try lines("a\nb\n") == ["a", "b"])
        #expect(try lines("a\n\nb") == ["a", "", "b"])
        #expect(try lines("").isEmpty)
    }

    @Test func `a line may have as many bytes as the limit says`() throws {
        #expect(try lines("12345\n", limit: 5) == ["12345"])
        #expect(try lines("a\n123456\n", limit: 5) == ["a", "too long"])
        #expect(try lines("123456", limit: 5) == ["too long"])
    }

    @Test func `lines that span reads are whole`() throws {
        let long = String(repeating: "x", count: 200_000)
        #expect(try lines("\(long)\n\(long)y\n\(long)", limit: 300_000) == [long, long + "y", long])
    }

    @Test func `a reader of an empty pipe may block`() throws {
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        var reader = LineReader(descriptor: ends[0], limit: 100)
        #expect(reader.mayBlock)
        #expect(write(ends[1], "a\nb", 3) == 3)
        #expect(!reader.mayBlock)
        if case .line(let line) = try reader.next() { #expect(Array(line) == [UInt8(ascii: "a")]) }
        #expect(reader.mayBlock, "the second line is not complete")
        for end in ends { close(end) }
    }
}
