import TestSupport
import Testing

@testable import Door

struct MultipartParserTests {
    struct Part: Equatable {
        var head: MultipartHead
        var bytes: [UInt8] = []
    }

    /// Feeds the chunks, and returns the parts; nil where the form has no end.
    static func parse(
        _ chunks: [[UInt8]], boundary: String = "b", limits: MultipartLimits = MultipartLimits()
    ) throws -> [Part]? {
        var parser = MultipartParser(boundary: Array(boundary.utf8), limits: limits)
        var parts: [Part] = []
        var (isOpen, hasEnded) = (false, false)
        for chunk in chunks {
            parser.add(chunk)
            while let event = try parser.next() {
                #expect(!hasEnded, "no event follows the end")
                switch event {
                case .part(let head):
                    #expect(!isOpen)
                    isOpen = true
                    parts.append(Part(head: head))
                case .bytes(let bytes):
                    #expect(isOpen && !bytes.isEmpty)
                    parts[parts.count - 1].bytes += bytes
                case .partEnd:
                    #expect(isOpen)
                    isOpen = false
                case .end: hasEnded = true
                }
            }
        }
        return hasEnded ? parts : nil
    }

    private func parse(_ text: String) throws -> [Part]? { try Self.parse([Array(text.utf8)]) }

    private static let head = "Content-Disposition: form-data; name=f; filename=a\r\n\r\n"
    private static let file = MultipartHead(name: "f", fileName: "a")

    @Test(
        arguments: [
            ("--b\r\n\(head)one\r\n--b--\r\n", ["one"]), ("--b\r\n\(head)one\r\n--b--", ["one"]),
            ("--b\r\n\(head)\r\n--b--", [""]),
            ("preamble\r\n--b \t \r\n\(head)a\r\n--b\r\n\(head)b\r\n--b--", ["a", "b"]),
            ("--b\r\n\(head)a\r\n--\r\n-b\r\n--b--", ["a\r\n--\r\n-b"]),
            ("--b\r\n\(head)\r\n\r\n\r\n--b--", ["\r\n\r\n"]),
            ("--b\r\n\(head)--b\r\n--b--", ["--b"]), ("--b--", []),
            ("--b\r\n\(head)a\r\n--b--\r\n--b\r\nepilogue", ["a"]),
            ("--b\r\n\(head)a\n--b\r\n--b--", ["a\n--b"]),
        ] as [(String, [String])])
    func `parts lie between boundaries`(text: String, bodies: [String]) throws {
        let parts = try #require(try parse(text))
        #expect(parts == bodies.map { Part(head: Self.file, bytes: Array($0.utf8)) })
    }

    @Test(arguments: ["", "--b", "--b-", "--b\r\n\(head)", "--b\r\n\(head)one", "--b\r\n\(head)one\r\n--b", "text"])
    func `a cut form has no end`(text: String) throws { #expect(try parse(text) == nil) }

    @Test(arguments: [
        "--bc\r\n\(head)a\r\n--b--", "--b\r\n\(head)a\r\n--bc\r\n--b--", "--b\r\n\r\na\r\n--b--",
        "--b -\r\n\(head)a\r\n--b--", "--b\r\nname=a\r\n\r\na\r\n--b--", "--b\n\(head)a\r\n--b--",
    ])
    func `a malformed form is refused`(text: String) {
        let error = #expect(throws: Problem.self) { try parse(text) }
        #expect(error?.type == "invalid-form")
    }

    @Test func `parts, heads and the text before them have limits`() {
        let limits = MultipartLimits()
        let part = "--b\r\n\(Self.head)a\r\n"
        func parse(_ text: String) throws { _ = try Self.parse([Array(text.utf8)]) }
        #expect(throws: Never.self) { try parse(String(repeating: part, count: limits.maxParts) + "--b--") }
        #expect(throws: Problem.self) { try parse(String(repeating: part, count: limits.maxParts + 1) + "--b--") }
        #expect(throws: Problem.self) { try parse("--b\r\nX: " + String(repeating: "a", count: limits.maxHead + 1)) }
        #expect(throws: Problem.self) { try parse(String(repeating: "a", count: limits.maxHead + 1)) }
        #expect(throws: Problem.self) { try parse("--b" + String(repeating: " ", count: limits.maxHead + 1)) }
    }

    @Test func `random parts arrive whole in any chunks`() throws {
        var random = SeededRandom.announced("random parts arrive whole in any chunks")
        for _ in 0..<200 {
            // Bytes that look like a boundary.
            let alphabet = Array("\r\n-b".utf8) + [0, 255]
            let bodies = (0..<random.number(in: 0..<5)).map { _ in
                (0..<random.number(in: 0..<80)).map { _ in alphabet[random.number(in: 0..<alphabet.count)] }
            }
            let boundary = "bb-b"
            let delimiter = Array("\r\n--\(boundary)".utf8)
            guard !bodies.contains(where: { ([0x0D, 0x0A] + $0).contains(delimiter) }) else { continue }
            var text: [UInt8] = random.chance(0.3) ? Array("preamble\r\n".utf8) : []
            for body in bodies { text += Array("--\(boundary)\r\n\(Self.head)".utf8) + body + [0x0D, 0x0A] }
            text += Array("--\(boundary)--\r\nepilogue".utf8)
            var chunks: [[UInt8]] = []
            while !text.isEmpty {
                let count = min(text.count, random.number(in: 1..<20))
                chunks.append(Array(text.prefix(count)))
                text.removeFirst(count)
            }
            let parts = try #require(try Self.parse(chunks, boundary: boundary))
            #expect(parts == bodies.map { Part(head: Self.file, bytes: $0) })
        }
    }

    @Test func `random bytes are refused or have no end, and never trap`() {
        var random = SeededRandom.announced("random bytes are refused or have no end, and never trap")
        for _ in 0..<500 {
            var bytes = Array("--b\r\n\(Self.head)one\r\n--b\r\n\(Self.head)two\r\n--b--".utf8)
            for _ in 0..<random.number(in: 1..<6) {
                let index = random.number(in: 0..<bytes.count)
                switch random.number(in: 0..<3) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: index)
                default: bytes.insert(contentsOf: random.bytes(3), at: index)
                }
            }
            let cut = random.number(in: 0..<bytes.count)
            _ = try? Self.parse([Array(bytes[..<cut]), Array(bytes[cut...])])
        }
    }
}
