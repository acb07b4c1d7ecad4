internal import Glibc
package import Host
internal import Synchronization
internal import ZeroMQ

extension DataDirectory {
    /// The sockets of the coordinator, which is on this machine.
    package var endpoints: any Endpoints { LocalEndpoints(run) }
}

/// Sockets as files in `run/` of a data directory.
struct LocalEndpoints: Endpoints {
    private let run: RunDirectory

    init(_ run: RunDirectory) { self.run = run }

    var security: SocketSecurity { .none }

    func open() throws(SystemError) -> any OpenEndpoints { try OpenRunDirectory(run) }

    func address(of socket: CoordinatorSocket) -> String? { Self.address(run.socket(socket)) }

    /// Where the path of the directory is too long for a socket, the address leads through the coordinator's descriptor of
    /// the directory.
    func address(of socket: CoordinatorSocket, at coordinator: Holder) -> String? {
        let resolved = realpath(run.path, nil).flatMap { text in
            defer { free(text) }
            return String(validatingCString: text)
        }
        let path = RunDirectory(path: resolved ?? run.path).socket(socket)
        return Self.address(path) ?? descriptor(of: coordinator).map { "ipc://\($0.socket(socket))" }
    }

    /// Nil where the path is too long.
    private static func address(_ path: String) -> String? {
        path.utf8.count <= SocketEndpoint.maximumPathLength ? "ipc://\(path)" : nil
    }

    private func descriptor(of coordinator: Holder) -> RunDirectory? {
        guard let pid = coordinator.pid, let listing = opendir("/proc/\(pid)/fd") else { return nil }
        defer { closedir(listing) }
        guard let wanted = FileIdentity(at: run.path) else { return nil }
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let candidate = "/proc/\(pid)/fd/\(name)"
            if FileIdentity(at: candidate) == wanted { return RunDirectory(path: candidate) }
        }
        return nil
    }

    func problem(of socket: CoordinatorSocket) -> EndpointProblem? {
        let path = run.socket(socket)
        var status = stat()
        guard lstat(path, &status) == 0 else { return .missing(name: socket.fileName) }
        return status.st_mode & S_IFMT == S_IFSOCK ? nil : .occupied(path: path)
    }
}

extension RunDirectory {
    /// The path of a socket.
    func socket(_ socket: CoordinatorSocket) -> String { "\(path)/\(socket.fileName)" }
}

extension CoordinatorSocket {
    fileprivate var fileName: String {
        switch self {
        case .events: "events.sock"
        case .intake: "intake.sock"
        case .reports: "reports.sock"
        case .control: "control.sock"
        case .offers(let seat): "worker-\(seat).sock"
        }
    }
}

/// An open descriptor of `run/`, through which its sockets are reached however long the path of the directory is.
private final class OpenRunDirectory: OpenEndpoints {
    private let descriptor: CInt
    private let bound = Mutex(BoundFiles())
    /// Made with the first socket: a fork must not carry it.
    private let context = Mutex<Context?>(nil)

    init(_ run: RunDirectory) throws(SystemError) { descriptor = try openDirectory(run.path) }

    deinit {
        // libzmq uses the path of a bound socket again when that closes, which is after the coordinator has ended.
        if bound.withLock({ $0.isEmpty }) { Glibc.close(descriptor) }
    }

    private func endpoint(_ socket: CoordinatorSocket) -> SocketEndpoint {
        .ipc(directoryDescriptor: descriptor, name: socket.fileName)
    }

    private func make(
        _ kind: Socket.Kind, _ options: Socket.Options, _ loop: PollLoop
    ) throws(ZeroMQError) -> Socket {
        let context = try self.context.withLock { context throws(ZeroMQError) in
            if let context { return context }
            let made = try Context()
            context = made
            return made
        }
        return try Socket(kind, context: context, loop: loop, options: options)
    }

    func bind(
        _ kind: Socket.Kind, as name: CoordinatorSocket, options: Socket.Options, on loop: PollLoop
    ) throws(ZeroMQError) -> Socket {
        let socket = try make(kind, options, loop)
        try bound.withLock { files throws(ZeroMQError) in try files.bind(socket, endpoint(name)) }
        return socket
    }

    func bindMissing() throws(ZeroMQError) -> [String] {
        try bound.withLock { files throws(ZeroMQError) in try files.bindMissing() }
            .map { String($0.split(separator: "/").last ?? "") }
    }

    func connect(
        _ kind: Socket.Kind, to name: CoordinatorSocket, options: Socket.Options, on loop: PollLoop
    ) throws(ZeroMQError) -> Socket {
        let socket = try make(kind, options, loop)
        try socket.connect(endpoint(name))
        return socket
    }

    func close() { context.withLock { $0 }?.terminate() }
}
