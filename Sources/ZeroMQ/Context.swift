internal import CLinux
import CZeroMQ
import Glibc
import Synchronization

/// The ZeroMQ context of a process: one I/O thread that all its sockets share.
///
/// Made after child processes were spawned: a fork must not carry it. Sockets hold it; it ends with the last
/// of them.
package final class Context: Sendable {
    private struct State {
        /// Nil once terminated.
        var handle: UnsafeMutableRawPointer?
        var socketsMade = 0
    }

    private let state: Mutex<State>
    private let faults: FaultInjection?

    /// Throws where the process has no more descriptors, and where `SLUICE_TEST_DROP` cannot be read.
    package convenience init() throws(ZeroMQError) {
        try self.init(faults: FaultInjection.fromEnvironment())
    }

    /// - Parameter faults: loses messages on purpose; for tests.
    package init(faults: FaultInjection?) throws(ZeroMQError) {
        guard let handle = zmq_ctx_new() else { throw .last("make a ZeroMQ context") }
        // Sockets linger only for as long as their own options say.
        zmq_ctx_set(handle, ZMQ_BLOCKY, 0)
        zmq_ctx_set(handle, ZMQ_IO_THREADS, 1)
        state = Mutex(State(handle: handle))
        self.faults = faults
    }

    deinit {
        terminate()
    }

    /// Ends the context: sockets that are still open throw `terminated`. Returns when every socket is closed
    /// and what it had left was sent, or its linger has passed; so close the sockets first, and never call it
    /// where that would keep them from closing. A second call does nothing.
    package func terminate() {
        let address = state.withLock { state in
            defer { state.handle = nil }
            return UInt(bitPattern: state.handle)
        }
        guard let handle = UnsafeMutableRawPointer(bitPattern: address) else { return }
        while zmq_ctx_term(handle) != 0, zmq_errno() == EINTR {}
    }

    func makeSocket(_ type: CInt) throws(ZeroMQError) -> (handle: UnsafeMutableRawPointer, dice: FaultInjection.Dice?) {
        let (address, ordinal, number) = state.withLock { state in
            state.socketsMade += 1
            guard let handle = state.handle else { return (UInt(0), 0, ZeroMQError.Code.terminated.rawValue) }
            let socket = zmq_socket(handle, type)
            return (UInt(bitPattern: socket), state.socketsMade, zmq_errno())
        }
        guard let handle = UnsafeMutableRawPointer(bitPattern: address) else {
            throw .from(number, "make a socket")
        }
        return (handle, faults?.dice(ordinal: ordinal))
    }
}

/// A test switch that loses messages, to show that every message is only a hint.
///
/// Off unless the environment has `SLUICE_TEST_DROP=p:seed` when a `Context` is made: each message that a
/// socket sends is then dropped with probability `p` (0…1), and the sender is told that it was sent. The same
/// seed and order of sockets lose the same messages in every process, so give each process a seed of its own.
package struct FaultInjection: Sendable, Equatable {
    package static let variable = "SLUICE_TEST_DROP"

    package let probability: Double
    package let seed: UInt64

    package init(probability: Double, seed: UInt64) {
        self.probability = probability
        self.seed = seed
    }

    /// Reads `p:seed`, for example `0.05:42`.
    package init(parsing text: String) throws(ZeroMQError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let probability = Double(parts[0]), (0...1).contains(probability),
            let seed = UInt64(parts[1])
        else {
            throw ZeroMQError(
                .invalid, "\(Self.variable) must be probability:seed, for example 0.05:42, and is \(text)")
        }
        self.init(probability: probability, seed: seed)
    }

    static func fromEnvironment() throws(ZeroMQError) -> FaultInjection? {
        guard let text = getenv(variable) else { return nil }
        return try FaultInjection(parsing: String(cString: text))
    }

    /// The dice of the `ordinal`th socket of this process.
    func dice(ordinal: Int) -> Dice {
        Dice(
            threshold: probability >= 1 ? .max : UInt64(probability * 0x1p64),
            state: seed ^ UInt64(ordinal) << 32)
    }

    /// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    struct Dice: Sendable {
        let threshold: UInt64
        var state: UInt64

        mutating func drops() -> Bool {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31) < threshold
        }
    }
}

/// Connections to the sockets of this process that were closed at once, because they would have taken the descriptors that
/// its files need: those of monitors beyond half of its limit (`ulimit -n`), all others beyond three quarters.
package enum RefusedConnections {
    /// Since the process started.
    package static var count: Int { clinux_refused_connections() }
}
