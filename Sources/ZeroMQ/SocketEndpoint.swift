import Glibc
internal import Host

/// Where a socket binds or connects.
package struct SocketEndpoint: Hashable, Sendable, CustomStringConvertible {
    /// The longest path of a Unix domain socket in bytes: `sun_path` less its final zero.
    package static let maximumPathLength = 107

    /// As libzmq takes it: `ipc:///run/x.sock`, `tcp://127.0.0.1:5555`, `inproc://x`.
    package let address: String
    /// The path of the socket file; nil for other transports.
    let path: String?

    package var description: String {
        address
    }

    private init(address: String, path: String? = nil) {
        self.address = address
        self.path = path
    }

    /// A Unix domain socket at `path`, which may have 107 bytes (checked by `bind` and `connect`).
    package static func ipc(path: String) -> SocketEndpoint {
        SocketEndpoint(address: "ipc://\(path)", path: path)
    }

    /// A Unix domain socket named `name` in an open directory, whatever the length of that directory's own
    /// path.
    ///
    /// The descriptor must stay open as long as the socket: libzmq uses the path again at each reconnect and
    /// at close.
    package static func ipc(directoryDescriptor: CInt, name: String) -> SocketEndpoint {
        ipc(path: "/proc/self/fd/\(directoryDescriptor)/\(name)")
    }

    /// - Parameter port: 0 lets the system choose one; `Socket.lastEndpoint` tells it. Choose fixed ports
    ///   below 32768: a connecting socket that hits itself on an ephemeral port never reconnects (libzmq
    ///   4588, until 4.3.5).
    package static func tcp(host: String, port: UInt16) -> SocketEndpoint {
        SocketEndpoint(address: "tcp://\(host):\(port)")
    }

    /// Within one context only.
    package static func inproc(_ name: String) -> SocketEndpoint {
        SocketEndpoint(address: "inproc://\(name)")
    }

    func checkLength() throws(ZeroMQError) {
        guard let path else { return }
        let length = path.utf8.count
        guard length > 0, !path.utf8.contains(0) else {
            throw ZeroMQError(.invalid, "the path of a socket is empty or has a zero byte: \(self)", endpoint: self)
        }
        guard length <= Self.maximumPathLength else {
            throw ZeroMQError(
                .pathTooLong,
                "the path of a socket may have \(Self.maximumPathLength) bytes, \(path) has \(length): "
                    + "use a shorter directory, or bind through a descriptor of it",
                endpoint: self)
        }
    }

    /// libzmq unlinks any file at the path before it binds, so that the file would be lost.
    func checkReplaceable() throws(ZeroMQError) {
        guard let path else { return }
        var information = stat()
        guard lstat(path, &information) == 0, information.st_mode & S_IFMT != S_IFSOCK else { return }
        throw ZeroMQError(
            .notASocket, "cannot bind a socket at \(path): a file is there that is not a socket; move it away first",
            endpoint: self)
    }
}

/// The files of bound sockets. Peers that are connected keep their connections when a file is removed, but no
/// other can connect, so the socket is bound anew. Used on the loop of the sockets.
package struct BoundFiles: Sendable {
    private struct Entry: Sendable {
        weak var transport: (any MessageTransport)?
        var endpoint: SocketEndpoint
        /// Nil where the file was gone right after the bind.
        var identity: FileIdentity?
    }

    private var entries: [Entry] = []

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    /// Binds a socket to an `ipc` endpoint.
    package mutating func bind(_ socket: borrowing Socket, _ endpoint: SocketEndpoint) throws(ZeroMQError) {
        let transport = socket.checked()
        try transport.bind(endpoint)
        entries.removeAll { $0.transport == nil || $0.endpoint == endpoint }
        entries.append(Entry(transport: transport, endpoint: endpoint, identity: Self.identity(endpoint)))
    }

    /// Binds the sockets anew whose files were removed or replaced. Connections stay as they are.
    /// - Returns: the paths of these files.
    package mutating func bindMissing() throws(ZeroMQError) -> [String] {
        var paths: [String] = []
        for index in entries.indices {
            let entry = entries[index]
            guard let transport = entry.transport, !transport.isClosed else { continue }
            let identity = Self.identity(entry.endpoint)
            guard identity == nil || identity != entry.identity else { continue }
            try transport.bind(entry.endpoint)
            entries[index].identity = Self.identity(entry.endpoint)
            paths.append(entry.endpoint.path ?? entry.endpoint.address)
        }
        return paths
    }

    private static func identity(_ endpoint: SocketEndpoint) -> FileIdentity? {
        endpoint.path.flatMap { FileIdentity(at: $0, followsLinks: false) }
    }
}
