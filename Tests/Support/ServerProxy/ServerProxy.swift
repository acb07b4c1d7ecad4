internal import Glibc
internal import Host
internal import Synchronization

/// A proxy between clients and a PostgreSQL server, with one fault in each connection that is to have one.
///
/// It forwards bytes, and understands so much of the protocol that it finds the answer to COMMIT. All connections are served
/// by one thread.
package final class ServerProxy: Sendable {
    /// An address of this machine.
    package enum Address: Sendable, Equatable, CustomStringConvertible {
        /// A port of 127.0.0.1.
        case loopback(port: Int)
        /// The path of a Unix socket.
        case socket(path: String)

        package var description: String {
            switch self {
            case .loopback(let port): "127.0.0.1:\(port)"
            case .socket(let path): path
            }
        }
    }

    private struct State {
        var accepted = 0
        /// The numbers of the connections in which the fault has happened.
        var faulty: [Int] = []
        /// For the connections that are open.
        var action: ProxyFault.Action?
        var isStopped = false
    }

    /// Where clients connect.
    package let address: Address
    let server: Address
    let fault: @Sendable (Int) -> ProxyFault?
    let listener: CInt
    /// A pair of sockets that wakes the thread: a byte for an action, its end for ``stop()``.
    let wake: (read: CInt, write: CInt)
    private let state = Mutex(State())
    private let end = MonotonicSemaphore(value: 0)

    /// Starts a proxy.
    /// - Parameters:
    ///   - server: where its connections lead.
    ///   - address: where it listens. Default: a free port of 127.0.0.1.
    ///   - fault: the fault of a connection, by its number from 0; nil for none.
    package init(
        to server: Address, at address: Address? = nil, fault: @escaping @Sendable (Int) -> ProxyFault? = { _ in nil }
    ) throws {
        self.server = server
        self.fault = fault
        var ends: [CInt] = [0, 0]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Missed("cannot make a pair of sockets: error \(errno)")
        }
        (listener, self.address) = try Self.listen(at: address)
        wake = (ends[0], ends[1])
        startThread(named: "server proxy") { [self] in
            run()
            end.signal()
        }
    }

    /// The port of ``address``; 0 for a Unix socket.
    package var port: Int { if case .loopback(let port) = address { port } else { 0 } }
    /// The number of connections so far.
    package var accepted: Int { state.withLock { $0.accepted } }
    /// The numbers of the connections in which the fault has happened, in order.
    package var faulty: [Int] { state.withLock { $0.faulty } }

    /// - Returns: the number of the connection.
    func registerConnection() -> Int {
        state.withLock { state in
            defer { state.accepted += 1 }
            return state.accepted
        }
    }

    func takeAction() -> ProxyFault.Action? {
        state.withLock { state in
            defer { state.action = nil }
            return state.action
        }
    }

    func recordFault(_ number: Int) { state.withLock { $0.faulty.append(number) } }

    /// Breaks every connection that is open now: close, reset or half-open. Returns before that; see ``faulty``.
    package func breakConnections(_ action: ProxyFault.Action) {
        state.withLock { $0.action = action }
        var byte: UInt8 = 0
        _ = write(wake.write, &byte, 1)
    }

    /// Closes all connections, and returns when that is done.
    package func stop() async {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        guard isFirst else { return }
        close(wake.write)
        await BlockingPool.shared.run { self.end.wait() }
    }
}

extension ServerProxy: StoppableServer {}
