import Commands
import Host
import Synchronization
import TestSupport
import ZeroMQ

@testable import Membership

/// The socket for hints of an installation, at both ends, on one loop.
struct EndpointsRig {
    let presence: PresenceRig
    let open: any OpenEndpoints
    let loop: PollLoop

    var endpoints: any Endpoints { presence.data.endpoints }

    static func with(_ kind: PresenceKind, _ body: (EndpointsRig) async throws -> Void) async throws {
        try await PresenceRig.with(kind) { try await with($0, body) }
    }

    static func with(_ presence: PresenceRig, _ body: (EndpointsRig) async throws -> Void) async throws {
        let rig = EndpointsRig(
            presence: presence, open: try presence.data.endpoints.open(),
            loop: try PollLoop(name: "endpoints"))
        try await body(rig)
    }

    /// A message is one byte.
    actor Peer {
        private let loop: PollLoop
        private let socket: Socket
        private let received = Mutex<[UInt8]>([])

        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(_ socket: consuming Socket, on loop: PollLoop) {
            self.socket = socket
            self.loop = loop
        }

        func start() {
            loop.whenReadable(socket) { [weak self] in self?.assumeIsolated { $0.receive() } }
        }

        private func receive() {
            while let byte = (try? socket.receive { $0.first ?? 0 }) ?? nil { received.withLock { $0.append(byte) } }
        }

        func send(_ byte: UInt8) { _ = try? socket.send([byte]) }

        nonisolated func hasReceived(_ byte: UInt8) -> Bool { received.withLock { $0.last } == byte }

        nonisolated func expect(_ byte: UInt8) async throws {
            try await until("message \(byte)") { hasReceived(byte) }
        }
    }

    /// The coordinator's end.
    func bind() async throws -> Peer {
        let peer = try await make { [open] options, loop throws(ZeroMQError) in
            try open.bind(.pull, as: .intake, options: options, on: loop)
        }
        await peer.start()
        return peer
    }

    func bindMissing() async throws -> [String] {
        try await loop.run { [open] () throws(ZeroMQError) in try open.bindMissing() }
    }

    /// The end of a process of the installation.
    func connect() async throws -> Peer {
        try await make { [open] options, loop throws(ZeroMQError) in
            try open.connect(.push, to: .intake, options: options, on: loop)
        }
    }

    /// The end of another program.
    func connect(_ address: String) async throws -> Peer {
        let endpoint = SocketEndpoint.ipc(path: String(address.dropFirst("ipc://".count)))
        let context = try Context()
        return try await make { options, loop throws(ZeroMQError) in
            let socket = try Socket(.push, context: context, loop: loop, options: options)
            try socket.connect(endpoint)
            return socket
        }
    }

    private func make(
        _ body: @escaping @Sendable (Socket.Options, PollLoop) throws(ZeroMQError) -> Socket
    ) async throws -> Peer {
        try await loop.run { [loop] () throws(ZeroMQError) in
            var options = Socket.Options()
            options.reconnectInterval = .milliseconds(20)
            options.reconnectIntervalMaximum = .milliseconds(100)
            return Peer(try body(options, loop), on: loop)
        }
    }

    func end() async {
        loop.stop()
        await loop.stopped()
    }
}
