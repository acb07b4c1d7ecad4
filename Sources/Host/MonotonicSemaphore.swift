internal import CLinux
internal import Glibc

/// A counting semaphore whose timeouts pass by the monotonic clock.
///
/// `DispatchSemaphore` waits by the wall clock on Linux (`sem_timedwait`): where the clock is set back by an hour during a wait
/// of 100 ms, the wait takes an hour longer.
package final class MonotonicSemaphore: Sendable {
    // Unsafe: `sem_t` is made for several threads, and must not move.
    private nonisolated(unsafe) let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    /// - Precondition: `value` ≥ 0.
    package init(value: Int) {
        let code = sem_init(semaphore, 0, UInt32(value))
        precondition(code == 0, "A semaphore cannot be made: \(errno)")
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    package func signal() { sem_post(semaphore) }

    package func wait() { while sem_wait(semaphore) != 0, errno == EINTR {} }

    /// - Parameter timeout: 0 or less to look without waiting.
    /// - Returns: false where the timeout passed without a signal.
    package func wait(timeout: Duration) -> Bool { wait(until: .now + max(timeout, .zero)) }

    /// - Returns: false where the time came without a signal.
    package func wait(until end: MonotonicTime) -> Bool {
        while clinux_semaphore_wait(semaphore, end.nanoseconds) != 0 {
            guard errno == EINTR else { return false }
        }
        return true
    }
}
