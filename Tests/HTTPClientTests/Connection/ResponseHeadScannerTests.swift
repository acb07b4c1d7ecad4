import TestSupport
import Testing

@testable import HTTPClient

@Suite struct ResponseHeadScannerTests {
    private func scan(_ pieces: [[UInt8]]) -> (isFine: Bool, scanner: ResponseHeadScanner) {
        var scanner = ResponseHeadScanner()
        scanner.expectResponse()
        for piece in pieces {
            var bytes = piece[...]
            while scanner.isExpectingHead, !bytes.isEmpty {
                switch scanner.scan(bytes) {
                case .unended: bytes = []
                case .ended(let count): bytes = bytes.dropFirst(count)
                case .tooLarge: return (false, scanner)
                }
            }
        }
        return (true, scanner)
    }

    @Test(arguments: [
        ("HTTP/1.1 201 Created\r\n\r\n", 201, false), ("HTTP/1.0 503\r\nA: b\r\n\r\n", 503, false),
        ("\r\nHTTP/1.1 204 \r\n\r\n", 204, false), ("HTTP/1.1 200 OK\n\n", 200, false),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 413 No\r\n", 413, true), ("HTTP/1.1 20", nil, true),
        ("HTTP/2 200\r\n\r\n", nil, false), ("HTTP/1.1 2x0 OK\r\n\r\n", nil, false), ("220 mail\r\n\r\n", nil, false),
    ])
    func `the status of a head is known however its bytes arrive`(_ text: String, _ status: Int?, _ isInHead: Bool) {
        let bytes = Array(text.utf8)
        for split in 0...bytes.count {
            let (isFine, scanner) = scan([Array(bytes[..<split]), Array(bytes[split...])])
            #expect(isFine && scanner.status == status && scanner.isInHead == isInHead, "split at \(split)")
        }
    }

    @Test func `a head of 64 KiB is the largest, and the status of a larger one is still known`() {
        let start = "HTTP/1.1 201 Created\r\nA: "
        let end = "\r\n\r\n"
        let room = ResponseHeadScanner.maxHead - start.utf8.count - end.utf8.count
        #expect(scan([Array((start + String(repeating: "a", count: room) + end).utf8)]).isFine)
        let (isFine, scanner) = scan([Array((start + String(repeating: "a", count: room + 1) + end).utf8)])
        #expect(!isFine && scanner.status == 201)
    }

    @Test func `a body of any size and content is not taken for a head`() {
        let body = [UInt8](repeating: 0x41, count: ResponseHeadScanner.maxHead)
        let (isFine, scanner) = scan([Array("HTTP/1.1 200 OK\r\n\r\n".utf8)] + [[UInt8]](repeating: body, count: 10))
        #expect(isFine && scanner.status == 200 && !scanner.isInHead)
    }

    @Test func `random bytes neither trap nor pass for a status`() throws {
        var random = SeededRandom.announced("response heads")
        for _ in RandomRounds("response heads", 500...2000) {
            var scanner = ResponseHeadScanner()
            scanner.expectResponse()
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                guard scanner.isExpectingHead, scanner.scan(bytes) != .tooLarge else { break }
            }
            #expect(scanner.status == nil)
        }
    }
}
