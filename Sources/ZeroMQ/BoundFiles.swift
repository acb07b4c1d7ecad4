internal import Host

/// The files of bound sockets. Peers that are connected keep their connections when a file is removed, but no
/// other can connect, so the socket is bound anew. Used on the loop of the sockets.
package struct BoundFiles: Sendable {
    private struct Entry: Sendable {
        weak var transport: (any MessageTransport)?
        var endpoint: Endpoint
        /// Nil where the file was gone right after the bind.
        var identity: FileIdentity?
    }

    private var entries: [Entry] = []

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    /// Binds a socket to an `ipc` endpoint.
    package mutating func bind(_ socket: borrowing Socket, _ endpoint: Endpoint) throws(ZeroMQError) {
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

    private static func identity(_ endpoint: Endpoint) -> FileIdentity? {
        endpoint.path.flatMap { FileIdentity(at: $0, followsLinks: false) }
    }
}
