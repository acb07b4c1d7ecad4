import Testing

@testable import DoorAPI

struct NDJSONLinesTests {
    private func lines(_ text: String) -> [String] {
        NDJSONLines(Array(text.utf8)).map { "\($0.number) \(String(decoding: $0.text, as: UTF8.self))" }
    }

    @Test(arguments: [
        ("", []), ("\n\n", []), ("a", ["1 a"]), ("a\n", ["1 a"]), ("a\nb", ["1 a", "2 b"]),
        ("\n \t\r\na\r\n\nb\n", ["3 a\r", "5 b"]), ("a\n\n", ["1 a"]),
    ])
    func `lines that are not blank keep their numbers`(_ text: String, _ expected: [String]) {
        #expect(lines(text) == expected)
    }

    @Test func `a line is found without the ones behind it`() {
        // A list of these lines would take a gigabyte, and a second to make.
        let bytes = Array("a\n".utf8) + [UInt8](repeating: UInt8(ascii: "\n"), count: 16 << 20)
        let time = ContinuousClock().measure { #expect(NDJSONLines(bytes).first { _ in true }?.number == 1) }
        #expect(time < .milliseconds(500))
    }
}
