import CZeroMQ
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
