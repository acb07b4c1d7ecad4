internal import ZeroMQ

/// Holds a socket for its loop. `@unchecked Sendable`: touched on the loop's thread only, which the socket checks.
final class SocketKeeper: @unchecked Sendable {
    var socket: Socket?
}
