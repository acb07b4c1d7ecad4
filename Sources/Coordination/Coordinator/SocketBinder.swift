internal import Host
internal import Membership
internal import Store
internal import ZeroMQ

/// Makes the sockets of the coordinator, with their options, and binds them.
struct SocketBinder {
    private let loop: PollLoop
    private let endpoints: any OpenEndpoints

    /// Frames that one of the coordinator's sockets queues for a peer before it drops new ones.
    private static let sendHighWaterMark: Int32 = 100_000
    /// The same for each monitor. A monitor that does not read sees the gap in `seq`; twenty of them cost 60 MB.
    private static let monitorHighWaterMark: Int32 = 10_000
    private static let maxMessageSize: Int64 = 16 << 20

    init(loop: PollLoop, endpoints: any Endpoints) throws {
        self.loop = loop
        do throws(SystemError) { self.endpoints = try endpoints.open() } catch { throw StoreError(error) }
    }

    /// Binds one of the coordinator's sockets.
    func bind(_ kind: Socket.Kind, _ name: CoordinatorSocket) throws -> Socket {
        var options = Socket.Options()
        options.sendHighWaterMark = name == .events ? Self.monitorHighWaterMark : Self.sendHighWaterMark
        options.maximumMessageSize = Self.maxMessageSize
        options.verboseSubscriptions = true
        return try endpoints.bind(kind, as: name, options: options, on: loop)
    }

    /// Binds the socket that sends offers to the worker of a seat. It drops no frame.
    func bindWorker(seat: Int) throws -> Socket {
        var options = Socket.Options()
        options.sendHighWaterMark = 0
        options.immediate = false
        options.maximumMessageSize = Self.maxMessageSize
        return try endpoints.bind(.push, as: .offers(seat: seat), options: options, on: loop)
    }

    /// Binds the sockets anew whose files were removed or replaced.
    /// - Returns: the names of these files.
    func bindMissing() throws(ZeroMQError) -> [String] { try endpoints.bindMissing() }
}
