import Glibc
import Synchronization
import TestSupport

/// A ``RandomDestination`` on a socket of 127.0.0.1: HTTP/1.1 with kept connections, each on a thread of its
/// own.
final class SocketDestination: Sendable {
    let destination: RandomDestination
    let port: Int
    private let listener: CInt

    init(_ destination: RandomDestination) throws {
        self.destination = destination
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        // A sockaddr_in, byte by byte: family, port 0 for any free port, 127.0.0.1.
        var address: [UInt8] = [UInt8(AF_INET), 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
        var length = socklen_t(address.count)
        let (listener, size) = (listener, length)
        let isBound = address.withUnsafeMutableBytes { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(listener, pointer, size) == 0 && listen(listener, 64) == 0
                && getsockname(listener, pointer, &length) == 0
        }
        guard isBound else { throw Missed("a socket of 127.0.0.1") }
        port = Int(address[2]) << 8 | Int(address[3])
        Self.thread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Self.thread { Self.serve(connection, destination) }
            }
        }
    }

    var origin: String { "http://127.0.0.1:\(port)" }

    /// Accepts no more connections.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func serve(_ connection: CInt, _ destination: RandomDestination) {
        defer { close(connection) }
        var pending: [UInt8] = []
        while let request = read(connection, &pending) {
            switch destination.handle(request) {
            case .cut:
                // SO_LINGER of 0 s: a reset.
                let linger: [CInt] = [1, 0]
                setsockopt(connection, SOL_SOCKET, SO_LINGER, linger, socklen_t(8))
                return
            case .answer(let status, let headers, let body):
                var head = "HTTP/1.1 \(status) Status\r\n"
                for header in headers { head += "\(header.name): \(header.value)\r\n" }
                if !headers.contains(where: { $0.name == "Content-Length" }), status != 204 {
                    head += "Content-Length: \(body.count)\r\n"
                }
                guard write(connection, Array((head + "\r\n").utf8) + body) else { return }
            }
        }
    }

    private static func read(_ connection: CInt, _ pending: inout [UInt8]) -> RandomDestination.Request? {
        let end: [UInt8] = [13, 10, 13, 10]
        var headEnd = pending.firstRange(of: end)
        while headEnd == nil {
            guard more(connection, &pending) else { return nil }
            headEnd = pending.firstRange(of: end)
        }
        guard let headEnd else { return nil }
        let lines = String(decoding: pending[..<headEnd.lowerBound], as: UTF8.self).split(separator: "\r\n")
        pending.removeSubrange(..<headEnd.upperBound)
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let name = line.prefix { $0 != ":" }
            headers[name.lowercased()] = String(line.dropFirst(name.count + 1).drop { $0 == " " })
        }
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        while pending.count < length { guard more(connection, &pending) else { return nil } }
        defer { pending.removeFirst(length) }
        return .init(
            method: String(words[0]), path: String(words[1]), headers: headers, body: Array(pending.prefix(length)))
    }

    private static func more(_ connection: CInt, _ pending: inout [UInt8]) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(connection, &bytes, bytes.count, 0)
        guard count > 0 else { return false }
        pending += bytes.prefix(count)
        return true
    }

    private static func write(_ connection: CInt, _ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func thread(_ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Box(body))
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, box.toOpaque())
        pthread_detach(thread)
    }

    private final class Box {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
