package import Host
package import ZeroMQ

/// A socket that the coordinator binds.
package enum CoordinatorSocket: Sendable, Hashable {
    /// Events to monitors.
    case events
    /// Hints from producers.
    case intake
    /// Reports of workers.
    case reports
    /// Control frames to workers.
    case control
    /// Offers to one worker.
    case offers(seat: Int)

    /// Those that a running coordinator has from its start.
    package static let permanent: [CoordinatorSocket] = [.events, .intake, .reports, .control]
}

/// How messages are protected on their way.
package enum SocketSecurity: Sendable {
    /// By the mode of a directory, which other users cannot open.
    case none
}

/// The addresses of the coordinator's sockets.
package protocol Endpoints: Sendable {
    var security: SocketSecurity { get }

    /// Gives this process access to the sockets.
    func open() throws(SystemError) -> any OpenEndpoints

    /// The address of a socket for other programs, whether a coordinator runs or not.
    /// - Returns: nil where only a running coordinator makes it reachable for them.
    func address(of socket: CoordinatorSocket) -> String?

    /// The address of a socket for other programs, while this coordinator runs.
    /// - Returns: nil where none can reach it.
    func address(of socket: CoordinatorSocket, at coordinator: Holder) -> String?

    /// Why no process can connect; nil where they can.
    func problem(of socket: CoordinatorSocket) -> EndpointProblem?
}

package enum EndpointProblem: Sendable, Equatable {
    /// No coordinator has bound it, or its file was removed.
    case missing(name: String)
    /// Something that is not a socket is there.
    case occupied(path: String)
}

/// Makes the sockets of one process. Keep it for as long as a socket may connect again.
package protocol OpenEndpoints: AnyObject, Sendable {
    /// Makes a socket of the coordinator, and replaces one that an earlier coordinator has left. Call it on the loop, and as
    /// the coordinator.
    func bind(
        _ kind: Socket.Kind, as name: CoordinatorSocket, options: Socket.Options, on loop: PollLoop
    ) throws(ZeroMQError) -> Socket

    /// Binds the sockets anew that have become unreachable. Connections stay as they are. Call it on their loop.
    /// - Returns: their names.
    func bindMissing() throws(ZeroMQError) -> [String]

    /// Makes a socket that connects now, or when a coordinator starts, and again after each loss. Call it on the loop.
    func connect(
        _ kind: Socket.Kind, to name: CoordinatorSocket, options: Socket.Options, on loop: PollLoop
    ) throws(ZeroMQError) -> Socket

    /// Returns when all sockets are closed, and what they had left is sent or their linger has passed: close them first. No
    /// socket can be made afterwards.
    func close()
}
