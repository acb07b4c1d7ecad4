import TestSupport
import Testing

@testable import HTTPClient

@Suite struct ResponseHeadRepairTests {
    private func mended(_ head: String) -> String? {
        ResponseHeadRepair.mended(head.utf8).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        ("HTTP/1.1 201 Created\nA: b\n\n", "HTTP/1.1 201 Created\r\nA: b\r\n\r\n"),
        ("HTTP/1.1 201\r\nA: b\n\r\n", "HTTP/1.1 201\r\nA: b\r\n\r\n"),
        ("\r\n\nHTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\ncontent-length: 5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\n"
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
        ("HTTP/1.1 200 OK\r\nA: b,\r\n\t c\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b, c\r\n\r\n"),
        ("HTTP/1.1 200 OK\r\nLocation : /u\r\n\r\n", "HTTP/1.1 200 OK\r\nLocation: /u\r\n\r\n"),
        ("HTTP/1.1 200 OK\r\nA: \u{1}b\rc\r\n\r\n", "HTTP/1.1 200 OK\r\nA:  b c\r\n\r\n"),
        ("HTTP/1.1 200 OK\r\nnot a field\r\nA: b\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
    ])
    func `a careless head becomes a right one`(_ head: String, _ right: String) {
        #expect(mended(head) == right)
        #expect(mended(right) == nil, "a right head is left alone")
    }

    @Test func `a value in Latin-1 becomes UTF-8`() {
        let head = Array("HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=\"".utf8) + [0x6E, 0xE4, 0x68]
        let mended = ResponseHeadRepair.mended(head + Array("\"\r\n\r\n".utf8)).map {
            String(decoding: $0, as: UTF8.self)
        }
        #expect(mended == "HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=\"näh\"\r\n\r\n")
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nA:\r\nB: \u{E9}\t\r\nContent-Length: 5\r\n\r\n",
        "220 mail\r\n\r\n", "SSH-2.0-x\n", "", "HTTP/2 200\n\n",
    ])
    func `a right head, and what is not HTTP, is left alone`(_ head: String) { #expect(mended(head) == nil) }

    @Test(arguments: ["5\r\nContent-Length: 6", "5, 6", "5, x", "5,5x"])
    func `lengths that differ stay, so that the parser refuses them`(_ lengths: String) {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(lengths)\r\n\r\n"
        #expect(mended(head) == head)
    }

    @Test func `random heads never trap, and a mended one needs no second mending`() {
        var random = SeededRandom.announced("careless heads")
        let pieces = [
            "\r\n", "\n", "\r", ":", " ", "\t", "A", "Content-Length", "5", ",", "\u{0}", "HTTP/1.1 200 OK", "é",
        ]
        for _ in RandomRounds("careless heads", 500...5000) {
            let head =
                "HTTP/1.1 200"
                + (0..<Int.random(in: 0...12, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
                .joined()
            guard let mended = ResponseHeadRepair.mended(head.utf8) else { continue }
            let again = ResponseHeadRepair.mended(mended)
            #expect(again == nil || again == mended, "\(head.debugDescription)")
        }
    }
}
