package import NIOCore
package import NIOHTTP1

/// One request and its response, from the side of the code that needs it: writes the body, receives the
/// response.
///
/// The client calls every method on its event loop. ``ended(_:)`` is the last call and comes exactly once.
package protocol HTTPExchange: AnyObject {
    /// The request head was written to `connection`: from now on a byte may have left.
    func began(on connection: HTTPConnection)

    /// Writes the body while ``HTTPConnection/isWritable`` is true, and ends it by
    /// ``HTTPConnection/endBody()``. Is called again whenever the connection takes more.
    func writeBody()

    /// An interim response (1xx). Default: ignored.
    func received(interim head: HTTPResponseHead)

    /// The head of the final response.
    func received(head: HTTPResponseHead)

    /// A part of the response body.
    func received(body bytes: ByteBuffer) -> ReadDecision

    /// The kernel's counters of the connection, 4 times a second.
    /// - Parameter before: the same when the request began, because a kept connection has counted other
    ///   requests.
    func measured(_ now: TCPInfo, since before: TCPInfo)

    /// The exchange is over.
    func ended(_ end: HTTPExchangeEnd)

    /// Whether the body waits for a disk or for its own pace, not for the peer.
    var isHeldBack: Bool { get }

    /// Whether other requests must be able to overtake this one, so that the kernel buffers little of it.
    var isLowPriority: Bool { get }

    /// Whether the request may be sent again when the peer of a kept connection acknowledges nothing.
    var isRepeatable: Bool { get }
}

extension HTTPExchange {
    package func received(interim head: HTTPResponseHead) {}
}

/// Whether the connection reads the next bytes of a response.
package enum ReadDecision: Sendable {
    case more
    /// The connection reads no more until ``HTTPConnection/resumeReading()``, so the peer's window closes. Bytes of
    /// the same read still arrive; ``more`` for them ends the pause.
    case pause
    /// The exchange needs no more: it ends with ``HTTPError/stopped``, and its connection is reset.
    case enough
}

/// How an exchange ended.
package struct HTTPExchangeEnd: Sendable {
    /// Why the exchange ended early; nil: the response is complete.
    package var error: HTTPError?
    /// The connection had been used before, and ended before the first byte of a response.
    package var keptConnectionEnded = false

    init(_ error: HTTPError? = nil, keptConnectionEnded: Bool = false) {
        self.error = error
        self.keptConnectionEnded = keptConnectionEnded
    }
}
