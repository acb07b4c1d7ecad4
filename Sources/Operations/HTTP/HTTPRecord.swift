internal import AsyncHTTPClient
internal import Commands
internal import NIOCore
internal import NIOHTTP1

/// What came of one HTTP request.
struct HTTPRecord: Sendable {
    /// The final response's head; nil where none came.
    var head: HTTPResponseHead?
    /// Its body, up to ``HTTPTransfer/bodyLimit``.
    var body = ByteBuffer()
    /// Bytes of body that came.
    var bodyBytes = 0
    /// The response ended as it should.
    var isComplete = false
    /// A byte may have left.
    var began = false
    /// The whole body was handed to the connection.
    var sentAll = false
    /// It went over a kept connection, which ended before the first byte of an answer.
    var keptConnectionEnded = false
    /// The peer had acknowledged some of the body then, as far as the last look showed.
    var wasUnderWay = false
    /// Why the request ended early, where it did.
    var error: (any Error)?

    /// A kept connection was closed by the peer or given up, and most likely nobody saw anything of the request.
    var metStaleConnection: Bool { lostKeptConnection && !wasUnderWay }

    /// A kept connection was closed by the peer or given up, and somebody may have seen some of the request.
    var lostKeptConnection: Bool {
        // What this side has ended says nothing of the peer.
        let isOurs = error is Failure || error is CancellationError
        let isStall = (error as? StallError).map { !$0.isOfDeadConnection } ?? false
        return head == nil && keptConnectionEnded && !isOurs && !isStall
    }

    /// The connection was gone before the first byte.
    var wasNeverSeen: Bool {
        guard head == nil, !began else { return false }
        return error as? ChannelError == .ioOnClosedChannel || error as? HTTPClientError == .remoteConnectionClosed
    }

    /// The number of the final response; nil where none came.
    var status: Int? { head.map { Int($0.status.code) } }

    /// The first header of that name in the final response.
    func header(_ name: String) -> String? { head?.headers.first(name: name) }
}
