package import NIOCore
package import NIOHTTP1

/// One request and its response, as seen by the code that wants it: writes the body, takes the response.
///
/// The client calls every method on its event loop. ``ended(_:)`` is the last call, and comes exactly once.
package protocol HTTPExchange: AnyObject {
    /// The request head is about to be written to `connection`: from here on a byte may have left.
    func began(on connection: HTTPConnection)

    /// The body may be written now, as long as ``HTTPConnection/isWritable`` says so; then
    /// ``HTTPConnection/endBody()``. Called again whenever the connection takes more.
    func writeBody()

    /// An interim response (1xx). Default: ignored.
    func received(interim head: HTTPResponseHead)

    /// The final response's head.
    func received(head: HTTPResponseHead)

    /// Some of the response's body.
    func received(body bytes: ByteBuffer) -> ReadDecision

    /// What the kernel says about the connection, 4 times a second.
    /// - Parameter before: the same when the request began; a kept connection has a past.
    func measured(_ now: TCPInfo, since before: TCPInfo)

    /// The exchange is over.
    func ended(_ end: HTTPExchangeEnd)

    /// A disk or a pace of our own, not the peer, is what the body waits for.
    var isHeldBack: Bool { get }

    /// Others may have to overtake this request: what the kernel holds of it is kept short.
    var isLowPriority: Bool { get }

    /// A kept connection that takes in nothing may be given up for a new one.
    var isRepeatable: Bool { get }
}

extension HTTPExchange {
    package func received(interim head: HTTPResponseHead) {}
}
