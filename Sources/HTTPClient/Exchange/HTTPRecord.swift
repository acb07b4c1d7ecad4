package import NIOCore
package import NIOHTTP1

/// What came of one HTTP request.
package struct HTTPRecord: Sendable {
    /// When the request began: its record is made then.
    package var startedAt = ContinuousClock.now
    /// The final response's head; nil where none came.
    package var head: HTTPResponseHead?
    /// The start of its body: what the exchange keeps of it.
    package var body = ByteBuffer()
    /// Bytes of body that came.
    package var bodyBytes = 0
    /// More came than is wanted, and the rest was not read.
    package var hasEnough = false
    /// The response ended as it should.
    package var isComplete = false
    /// A byte may have left.
    package var began = false
    /// The whole body was handed to the connection.
    package var sentAll = false
    /// It went over a connection that had been used before.
    package var usedKeptConnection = false
    /// It went over a kept connection, which ended before the first byte of an answer.
    package var keptConnectionEnded = false
    /// The peer had acknowledged some of the body then, as far as the last look showed.
    package var wasUnderWay = false
    /// Why the request ended early, where it did.
    package var error: (any Error)?

    package init() {}

    /// A kept connection was closed by the peer or given up, and most likely nothing of the request was seen.
    package var metStaleConnection: Bool { lostKeptConnection && !wasUnderWay }

    /// A kept connection was closed by the peer or given up, and some of the request may have been seen.
    package var lostKeptConnection: Bool { head == nil && keptConnectionEnded && error is HTTPError }

    /// The connection was gone before the first byte.
    package var wasNeverSeen: Bool { head == nil && !began && error as? HTTPError == .closed }

    /// The number of the final response; nil where none came.
    package var status: Int? { head.map { Int($0.status.code) } }

    /// The first header of that name in the final response.
    package func header(_ name: String) -> String? { head?.headers.first(name: name) }
}
