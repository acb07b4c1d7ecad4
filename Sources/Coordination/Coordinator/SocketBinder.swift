internal import Host
internal import Store
internal import ZeroMQ

/// Binds sockets in `run/` of a data directory.
struct SocketBinder {
    private let loop: PollLoop
    private let context: Context
    /// Of `run/`, never closed: libzmq uses the path again when the sockets close, which is after the
    /// coordinator has ended.
    private let descriptor: CInt
    private let files = BoundFiles()

    /// Frames that one of the coordinator's sockets queues for a peer before it drops new ones.
    private static let sendHighWaterMark: Int32 = 100_000
    /// The same for each monitor. A monitor that does not read sees the gap in `seq`; twenty of them cost 60 MB.
    private static let monitorHighWaterMark: Int32 = 10_000
    private static let maxMessageSize: Int64 = 16 << 20

    init(loop: PollLoop, runDirectory: RunDirectory) throws {
        self.loop = loop
        context = try Context()
        do throws(SystemError) {
            descriptor = try openDirectory(runDirectory.path)
        } catch {
            throw StoreError(error)
        }
    }

    /// Binds one of the coordinator's sockets.
    func bind(_ kind: Socket.Kind, _ file: RunDirectory.Socket) throws -> Socket {
        var options = Socket.Options()
        options.sendHighWaterMark = file == .events ? Self.monitorHighWaterMark : Self.sendHighWaterMark
        options.maximumMessageSize = Self.maxMessageSize
        options.verboseSubscriptions = true
        return try bind(kind, file, options)
    }

    /// Binds the socket that sends offers to the worker of a seat. It drops no frame.
    func bindWorker(seat: Int) throws -> Socket {
        var options = Socket.Options()
        options.sendHighWaterMark = 0
        options.immediate = false
        options.maximumMessageSize = Self.maxMessageSize
        return try bind(.push, .offers(seat: seat), options)
    }

    private func bind(_ kind: Socket.Kind, _ file: RunDirectory.Socket, _ options: Socket.Options) throws -> Socket {
        let socket = try Socket(kind, context: context, loop: loop, options: options)
        try files.bind(socket, .ipc(directoryDescriptor: descriptor, name: file.name))
        return socket
    }

    /// Binds the sockets anew whose files were removed or replaced.
    /// - Returns: the names of these files.
    func bindMissing() throws(ZeroMQError) -> [String] {
        try files.bindMissing().map { String($0.split(separator: "/").last ?? "") }
    }
}
