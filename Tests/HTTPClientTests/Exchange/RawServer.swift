import Glibc
import Host
import Synchronization
import TestSupport

/// A server on a free port of 127.0.0.1. It runs a closure for each connection, on a thread of its own, with
/// blocking calls, so that a test states the steps in their order.
final class RawServer: Sendable {
    /// One connection. After its end, reads return nothing and writes fail.
    struct Connection: Sendable {
        let descriptor: CInt
        let isWriting: @Sendable (Bool) -> Void

        /// Reads a head up to its empty line. Returns an empty text at the end of the connection.
        func readHead() -> String {
            var bytes: [UInt8] = []
            while !bytes.suffix(4).elementsEqual([0x0D, 0x0A, 0x0D, 0x0A]) {
                var byte: UInt8 = 0
                guard recv(descriptor, &byte, 1, 0) == 1 else { return "" }
                bytes.append(byte)
            }
            return String(decoding: bytes, as: UTF8.self)
        }

        /// - Returns: the number of bytes that arrived, at most `count`.
        func read(_ count: Int) -> Int {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            var done = 0
            while done < count {
                let more = recv(descriptor, &buffer, min(buffer.count, count - done), 0)
                guard more > 0 else { break }
                done += more
            }
            return done
        }

        @discardableResult
        func write(_ bytes: [UInt8]) -> Bool {
            isWriting(true)
            defer { isWriting(false) }
            var done = 0
            while done < bytes.count {
                let more = bytes[done...].withUnsafeBytes {
                    send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                }
                guard more > 0 else { return false }
                done += more
            }
            return true
        }

        @discardableResult
        func write(_ text: String) -> Bool { write(Array(text.utf8)) }
    }

    private struct State {
        var descriptors: [CInt] = []
        var running = 0
        var writingSince: UInt64?
        var isStopped = false
    }

    let port: Int
    private let listener: CInt
    private let state = Mutex(State())

    init(_ body: @escaping @Sendable (Connection) -> Int) async throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, 128) == 0
                    ? getsockname(descriptor, address, &length) : -1
            }
        }
        guard status == 0 else { throw Missed("no free port") }
        port = Int(UInt16(bigEndian: address.sin_port))
        startThread(named: "raw-server") { [self] in
            while true {
                let descriptor = accept(descriptor, nil, nil)
                guard descriptor >= 0 else { return }
                let isStopped = state.withLock { state in
                    state.descriptors.append(descriptor)
                    state.running += 1
                    return state.isStopped
                }
                guard !isStopped else { return }
                startThread(named: "raw-server") { [self] in
                    _ = body(Connection(descriptor: descriptor) { isWriting in self.note(isWriting) })
                    shutdown(descriptor, CInt(SHUT_RDWR))
                    state.withLock { $0.running -= 1 }
                }
            }
        }
    }

    private func note(_ isWriting: Bool) {
        state.withLock { $0.writingSince = isWriting ? Self.now : nil }
    }

    private static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Whether a write has been blocked for 300 ms.
    var isBlockedInWrite: Bool {
        state.withLock { $0.writingSince.map { Self.now - $0 > 300_000_000 } ?? false }
    }

    /// The number of accepted connections.
    var connections: Int { state.withLock { $0.descriptors.count } }

    /// The number of open connections.
    var openConnections: Int { state.withLock { $0.running } }

    func stop() async {
        let descriptors = state.withLock { state in
            state.isStopped = true
            return state.descriptors
        }
        shutdown(listener, CInt(SHUT_RDWR))
        for descriptor in descriptors { shutdown(descriptor, CInt(SHUT_RDWR)) }
        try? await until("the end of every connection") { self.state.withLock { $0.running == 0 } }
        close(listener)
        for descriptor in descriptors { close(descriptor) }
    }
}
