internal import Commands
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1

/// What came of one HTTP request.
struct HTTPRecord: Sendable {
    /// When the request began: its record is made then.
    var startedAt = ContinuousClock.now
    /// The final response's head; nil where none came.
    var head: HTTPResponseHead?
    /// Its body, up to ``HTTPTransfer/bodyLimit``.
    var body = ByteBuffer()
    /// Bytes of body that came.
    var bodyBytes = 0
    /// More came than is wanted, and the rest was not read.
    var hasEnough = false
    /// The response ended as it should.
    var isComplete = false
    /// A byte may have left.
    var began = false
    /// The whole body was handed to the connection.
    var sentAll = false
    /// It went over a connection that had been used before.
    var usedKeptConnection = false
    /// It went over a kept connection, which ended before the first byte of an answer.
    var keptConnectionEnded = false
    /// The peer had acknowledged some of the body then, as far as the last look showed.
    var wasUnderWay = false
    /// Why the request ended early, where it did.
    var error: (any Error)?

    /// A kept connection was closed by the peer or given up, and most likely nothing of the request was seen.
    var metStaleConnection: Bool { lostKeptConnection && !wasUnderWay }

    /// A kept connection was closed by the peer or given up, and some of the request may have been seen.
    var lostKeptConnection: Bool { head == nil && keptConnectionEnded && error is HTTPError }

    /// The connection was gone before the first byte.
    var wasNeverSeen: Bool { head == nil && !began && error as? HTTPError == .closed }

    /// The number of the final response; nil where none came.
    var status: Int? { head.map { Int($0.status.code) } }

    /// The first header of that name in the final response.
    func header(_ name: String) -> String? { head?.headers.first(name: name) }
}
