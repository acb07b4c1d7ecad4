import NIOCore
import NIOHTTP1
import Synchronization

@testable import HTTPClient

/// Sends a body and records the response.
final class TestExchange: HTTPExchange, Sendable {
    struct Observation {
        var interim: [UInt] = []
        var status: UInt?
        var body = 0
        var end: HTTPExchangeEnd?
        var http: NIOLoopBound<HTTPConnection>?
        var bodyBegan: NIODeadline?
        /// Whether the peer's window was closed, by measurement.
        var closedWindows: [Bool] = []
    }

    let seen = Mutex(Observation())
    private let size: Int
    private let decision: @Sendable (Int) -> ReadDecision

    /// - Parameters:
    ///   - size: the bytes of the body.
    ///   - decision: whether to read on, given the bytes that have arrived.
    init(size: Int = 0, decision: @escaping @Sendable (Int) -> ReadDecision = { _ in .more }) {
        self.size = size
        self.decision = decision
    }

    var isHeldBack: Bool { false }
    var isLowPriority: Bool { false }
    var isRepeatable: Bool { true }

    func began(on connection: HTTPConnection) {
        let bound = NIOLoopBound(connection, eventLoop: connection.context!.eventLoop)
        seen.withLock { $0.http = bound }
    }

    func writeBody() {
        let http: NIOLoopBound<HTTPConnection>? = seen.withLock { seen in
            guard seen.bodyBegan == nil else { return nil }
            seen.bodyBegan = .now()
            return seen.http
        }
        guard let http else { return }
        http.value.write(ByteBuffer(repeating: 0x61, count: size))
        http.value.endBody()
    }

    func received(interim head: HTTPResponseHead) { seen.withLock { $0.interim.append(head.status.code) } }
    func received(head: HTTPResponseHead) { seen.withLock { $0.status = head.status.code } }

    func received(body bytes: ByteBuffer) -> ReadDecision {
        decision(
            seen.withLock { seen in
                seen.body += bytes.readableBytes
                return seen.body
            })
    }

    func measured(_ now: TCPInfo, since before: TCPInfo) {
        seen.withLock { $0.closedWindows.append(now.isWindowClosed(since: before)) }
    }
    func ended(_ end: HTTPExchangeEnd) { seen.withLock { $0.end = end } }
}
