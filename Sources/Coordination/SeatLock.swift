internal import CLinux
internal import Glibc
package import Store
internal import Synchronization

/// The proof of a worker's death: whoever obtains the lock of its seat knows that it is dead.
package enum SeatLock {
    /// Held while the dead worker's commands are released, so that nobody sits down meanwhile.
    package struct Held: ~Copyable, Sendable {
        private let descriptor: CInt

        fileprivate init(descriptor: CInt) { self.descriptor = descriptor }

        deinit { close(descriptor) }
    }

    /// Tries to obtain the lock, without waiting. - Returns: nil where somebody sits in the seat.
    package static func obtain(_ path: String) throws(StoreError) -> Held? {
        let descriptor = clinux_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(.permission, "the lock \(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
        return Held(descriptor: descriptor)
    }
}

/// Who holds it may checkpoint while others write. A coordinator that starts may meet a producer that relieves a WAL.
final class CheckpointLock: Sendable {
    private let path: String
    private let held = Mutex<SeatLock.Held?>(nil)

    init(_ path: String) { self.path = path }

    /// Tries to obtain it, where it is not held yet.
    func obtain() throws(StoreError) {
        try held.withLock { held throws(StoreError) in
            if held == nil { held = try SeatLock.obtain(path) }
        }
    }
}

/// A process that is watched without being a child: its pidfd becomes readable when it ends.
struct WatchedProcess: ~Copyable {
    let descriptor: CInt

    /// - Returns: nil where the process is not the one that was meant, or cannot be seen from here (another container).
    init?(pid: Int32, startTime: Int64, bootID: String) {
        guard bootID == ProcessFacts.bootID else { return nil }
        let descriptor = clinux_pidfd_open(pid)
        guard descriptor >= 0 else { return nil }
        // Checked after opening: the descriptor cannot pass to another process any more.
        guard ProcessFacts.startTime(of: pid) == startTime else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
    }

    /// Ends the process; never a later owner of its number.
    func kill() { _ = clinux_pidfd_send_signal(descriptor, SIGKILL) }

    deinit { close(descriptor) }
}
