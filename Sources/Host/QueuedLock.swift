internal import CLinux
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// An exclusive lock that processes get in the order in which they asked for it.
///
/// A process draws a ticket, a number, and locks the byte of that number in a file (fcntl(2), `F_OFD_SETLK`). The lock
/// belongs to the lowest locked byte: each waits for the byte before its own. The kernel unlocks the bytes of a process
/// that ends. (Processes that wait for one byte would not keep their order: where another one comes first, the kernel
/// wakes them all.)
///
/// The kernel's wait has no timeout. So a thread waits, and its caller for as long as it can. Where the caller gives
/// up, the thread keeps the place in the queue for the next one.
package final class QueuedLock: Sendable {
    /// Where a queue is in a file that several share. The file need not have these bytes.
    package struct Target: Sendable {
        package var path: String
        /// Which queue of the file.
        package var number: Int

        package init(_ path: String, number: Int) {
            self.path = path
            self.number = number
        }

        /// The byte whose lock protects the counter, and the place of the counter of tickets, which has eight bytes.
        fileprivate var counter: off_t { 1 << 16 + off_t(number) * 8 }
        /// The byte of ticket 0.
        fileprivate var tickets: off_t { 1 << 56 + off_t(number) << 47 }
        /// Tickets that fit before those of the next queue: for 4 years at a million a second.
        fileprivate static let maxTickets: Int64 = 1 << 47
    }

    private enum State {
        case free
        /// The thread waits in the kernel.
        case waiting(isWanted: Bool)
        case held
    }

    private let descriptor: CInt
    private let target: Target
    private let state = Mutex(State.free)
    /// The ticket of this object. Changed only while the state is ``State/free``.
    private let ticket = Atomic<Int64>(0)
    private let granted = MonotonicSemaphore(value: 0)
    private let thread = Mutex<SerialThread?>(nil)

    /// - Throws: where the file cannot be made or opened.
    package init(_ target: Target) throws(SystemError) {
        descriptor = try openFile(target.path, O_RDWR | O_CREAT)
        self.target = target
    }

    deinit {
        thread.withLock { $0?.close() }
        close(descriptor)
    }

    /// Takes the lock. Blocks.
    /// - Precondition: no other thread takes or holds this object's lock.
    /// - Returns: false where the lock is still held after `timeout`.
    package func take(timeout: Duration) -> Bool {
        let isHeld = state.withLock { state in
            if case .waiting = state {
                if timeout > .zero { state = .waiting(isWanted: true) }
                return false
            }
            if !draw() || predecessor == nil {
                state = .held
                return true
            }
            guard timeout > .zero else {
                unlock()
                return false
            }
            state = .waiting(isWanted: true)
            startWaiting()
            return false
        }
        if isHeld { return true }
        guard timeout > .zero else { return false }
        if granted.wait(timeout: timeout) { return true }
        let isLate = state.withLock { state in
            if case .held = state { return true }
            state = .waiting(isWanted: false)
            return false
        }
        if isLate { granted.wait() }
        return isLate
    }

    package func release() {
        state.withLock { state in
            unlock()
            state = .free
        }
    }

    // MARK: Tickets

    /// How often the lock of the counter is tried, which a process holds for microseconds, and the time between.
    private static let maxTries = 2000
    private static let pause: UInt32 = 50

    /// Draws the next ticket and locks its byte.
    /// - Returns: false where the counter stays locked (its process was stopped at that moment) or cannot be used. Only the
    ///   order is lost then.
    private func draw() -> Bool {
        let byte = target.counter
        var tries = 0
        while clinux_lock_bytes(descriptor, byte, 1, 0) != 0 {
            tries += 1
            guard errno == EAGAIN || errno == EACCES || errno == EINTR, tries < Self.maxTries else { return false }
            usleep(Self.pause)
        }
        defer { clinux_unlock_bytes(descriptor, byte, 1) }
        var next: Int64 = 0
        if pread(descriptor, &next, 8, byte) != 8 { next = 0 }
        // A counter that another program has overwritten begins anew.
        next = (0..<Target.maxTickets - 1).contains(next) ? next + 1 : 1
        _ = pwrite(descriptor, &next, 8, byte)
        ticket.store(next, ordering: .relaxed)
        return clinux_lock_bytes(descriptor, own, 1, 0) == 0
    }

    private var own: off_t { target.tickets + off_t(ticket.load(ordering: .relaxed)) }

    /// The byte of an earlier ticket that is still locked.
    private var predecessor: off_t? {
        let byte = clinux_locked_byte(descriptor, target.tickets, own - target.tickets)
        return byte < 0 ? nil : byte
    }

    private func unlock() { clinux_unlock_bytes(descriptor, own, 1) }

    private func startWaiting() {
        let thread = thread.withLock { thread in
            let started = thread ?? SerialThread(named: "sluice-turn")
            thread = started
            return started
        }
        thread.perform { [self] in
            // Mostly the one before has the longest wait. One that gave up is gone sooner.
            wait(for: own - 1)
            while let predecessor { wait(for: predecessor) }
            let isWanted = state.withLock { state in
                if case .waiting(isWanted: true) = state {
                    state = .held
                    return true
                }
                unlock()
                state = .free
                return false
            }
            if isWanted { granted.signal() }
        }
    }

    /// Waits until no other process has a byte.
    private func wait(for byte: off_t) {
        while clinux_wait_for_byte(descriptor, byte) != 0 { guard errno == EINTR else { return } }
        clinux_unlock_bytes(descriptor, byte, 1)
    }
}
