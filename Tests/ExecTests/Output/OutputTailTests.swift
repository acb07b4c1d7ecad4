import TestSupport
import Testing

@testable import Exec

@Suite struct OutputTailTests {
    @Test(arguments: [OutputTail.Keep.head, .tail], [0, 1, 7, 64, 1000])
    func `random chunks leave the first or the last bytes and the exact count`(_ keep: OutputTail.Keep, _ limit: Int) {
        var random = SeededRandom.announced("output tail")
        for _ in 0..<50 {
            var tail = OutputTail(keep, limit: limit)
            var all: [UInt8] = []
            for _ in 0..<random.number(in: 0..<20) {
                let chunk = random.bytes(random.number(in: 0..<(random.chance(0.2) ? 300 : 12)))
                all += chunk
                tail.append(chunk)
                #expect(tail.bytes == (keep == .head ? Array(all.prefix(limit)) : Array(all.suffix(limit))))
            }
            #expect(tail.count == Int64(all.count))
            #expect(tail.isTruncated == (all.count > limit))
        }
    }

    @Test(
        arguments: [
            ("", nil), ("\n\n \n", nil), ("one", "one"), ("one\ntwo\n", "two"), ("a\r\nb \r\n\n", "b"),
            ("\u{1B}[31mred\u{1B}[0m\n", "[31mred[0m"), ("x\0y", "xy"), ("  a\tb  \n", "a\tb"),
        ] as [(String, String?)])
    func `the last line is the last one with text, without control characters`(_ text: String, _ line: String?) {
        var tail = OutputTail()
        tail.append(Array(text.utf8))
        #expect(OutputTail.lastLine(of: tail.bytes) == line)
    }

    @Test func `a long last line keeps its end, and invalid bytes are replaced`() {
        var tail = OutputTail()
        tail.append(Array("a\n".utf8) + [UInt8](repeating: 0x78, count: 1000) + [0xFF, 0x0A])
        #expect(OutputTail.lastLine(of: tail.bytes) == String(repeating: "x", count: 299) + "\u{FFFD}")
    }
}
