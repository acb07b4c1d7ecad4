import TestSupport
import Testing

/// The parts of the fault proxy that need no server.
@Suite struct ServerProxyTests {
    private static let commit: [UInt8] = Array("C".utf8) + [0, 0, 0, 11] + Array("COMMIT\0".utf8)

    @Test func `messages are whole, however their bytes arrive`() {
        var random = SeededRandom.announced("messages of a server")
        let sent = (0..<50).map { _ in
            let body = random.bytes(random.number(in: 0..<300))
            let length = UInt32(body.count + 4)
            return [UInt8(ascii: "D")] + (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32($0))) }
                + body
        }
        var bytes = sent.flatMap { $0 }[...]
        var messages = BackendMessages()
        var received: [[UInt8]] = []
        while !bytes.isEmpty {
            let count = min(random.number(in: 1..<40), bytes.count)
            received += messages.receive(bytes.prefix(count))
            bytes = bytes.dropFirst(count)
        }
        #expect(received == sent)
    }

    @Test func `the answer to COMMIT is found, also behind a refused request for TLS`() {
        var messages = BackendMessages()
        messages.expectNegotiation()
        let received = messages.receive(Array("N".utf8) + Self.commit)
        #expect(received.count == 2 && received[0] == Array("N".utf8))
        #expect(BackendMessages.tag(of: received[1]) == "COMMIT")
        #expect(BackendMessages.tag(of: Array("C".utf8)) == nil)
    }

    @Test func `encrypted bytes pass as they are`() {
        var messages = BackendMessages()
        messages.expectNegotiation()
        #expect(messages.receive(Array("S".utf8)) == [Array("S".utf8)])
        #expect(messages.isEncrypted)
        #expect(messages.receive([1, 2, 3]) == [[1, 2, 3]])
    }

    @Test func `a fault has a text that names it`() {
        var random = SeededRandom.announced("texts of faults")
        let faults =
            (0..<100).map { _ in ProxyFault.random(maxBytes: 5_000, using: &random) }
            + [ProxyFault(.delay(.milliseconds(20)), .bytes(0, .toClient))]
        for fault in faults { #expect(ProxyFault("\(fault)") == fault, "\(fault)") }
    }

    @Test(arguments: [
        "", "close", "close@", "@commit", "close@to-server", "close@to-server+", "close@to-server+-1", "x@commit",
    ])
    func `a text that is not a fault is refused`(_ text: String) { #expect(ProxyFault(text) == nil) }
}
