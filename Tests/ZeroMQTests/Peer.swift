import Glibc
import Host
import Synchronization

@testable import ZeroMQ

/// A socket that is owned by an actor of the loop, as in the services.
actor Peer {
    nonisolated let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let socket: Socket
    private var received: [[UInt8]] = []
    private var waiting: [CheckedContinuation<[UInt8], Never>] = []

    private init(_ loop: PollLoop, _ socket: consuming Socket) {
        self.loop = loop
        self.socket = socket
    }

    static func make(
        _ kind: Socket.Kind, _ context: Context, on loop: PollLoop, options: Socket.Options = .init(),
        bind: SocketEndpoint? = nil, connect: SocketEndpoint? = nil, subscribe: [UInt8]? = nil
    ) async throws -> Peer {
        try await loop.run {
            let socket = try Socket(kind, context: context, loop: loop, options: options)
            if let subscribe { try socket.subscribe(subscribe) }
            if let bind { try socket.bind(bind) }
            if let connect { try socket.connect(connect) }
            return Peer(loop, socket)
        }
    }

    var lastEndpoint: String { socket.lastEndpoint }
    var droppedFrames: Int { socket.droppedFrames }

    func send(_ bytes: [UInt8]) throws -> Bool {
        try socket.send(bytes)
    }

    func send(_ text: String) throws -> Bool {
        try socket.send(Array(text.utf8))
    }

    /// Sends at least `count` times, as often as the socket takes it.
    func sendAll(_ count: Int, _ bytes: [UInt8]) throws -> Int {
        var sent = 0
        for _ in 0..<count where try socket.send(bytes) { sent += 1 }
        return sent
    }

    func receive() throws -> [UInt8]? {
        try socket.receive { Array($0) }
    }

    func receiveAll() throws -> Int {
        var count = 0
        while try socket.receive({ _ in () }) != nil { count += 1 }
        return count
    }

    /// Receives from now on, for `next`.
    func listen() {
        loop.whenReadable(socket) { [weak self] in self?.assumeIsolated { $0.take() } }
    }

    private func take() {
        while let bytes = try? receive() {
            if waiting.isEmpty { received.append(bytes) } else { waiting.removeFirst().resume(returning: bytes) }
        }
    }

    func next() async -> [UInt8] {
        if !received.isEmpty { return received.removeFirst() }
        return await withCheckedContinuation { waiting.append($0) }
    }

    func nextText() async -> String {
        String(decoding: await next(), as: UTF8.self)
    }

    /// Sends `bytes` every millisecond until `stopRepeating`.
    func repeatSending(_ bytes: [UInt8]) {
        loop.tick = { [weak self] now in
            self?.assumeIsolated { _ = try? $0.send(bytes) }
            return now + .milliseconds(1)
        }
    }

    func stopRepeating() {
        loop.tick = nil
    }
}

/// Lets a test pass a socket around, which no service does.
final class SocketBox: Sendable {
    let socket: Socket

    init(_ socket: consuming Socket) {
        self.socket = socket
    }
}

/// A value that closures on several threads share.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) {
        self.value = Mutex(value)
    }

    func withLock<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
        value.withLock { value in body(&value) }
    }
}

/// A directory that is removed with the test.
final class Directory: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/sluice-zeromq-XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&template))
    }

    func endpoint(_ name: String = "s.sock") -> SocketEndpoint { .ipc(path: "\(path)/\(name)") }

    deinit {
        guard let stream = opendir(path) else { return }
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            unlink("\(path)/\(name)")
        }
        closedir(stream)
        rmdir(path)
    }
}
