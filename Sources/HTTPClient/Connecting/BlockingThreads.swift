internal import Host
internal import Synchronization

/// Threads for calls that block for seconds. A thread starts when a call needs one, so an idle process has
/// none. A name that does not resolve holds its thread for as long as the resolver waits, and delays no other
/// name.
final class BlockingThreads: Sendable {
    static let shared = BlockingThreads(maxThreads: 256)

    private struct State {
        var running = 0
        var waiting: [@Sendable () -> Void] = []
    }

    private let maxThreads: Int
    private let state = Mutex(State())

    init(maxThreads: Int) { self.maxThreads = maxThreads }

    /// Runs `body` on a thread of its own. While ``maxThreads`` are busy, it waits in a queue.
    func run(_ body: @escaping @Sendable () -> Void) {
        let starts = state.withLock { state in
            guard state.running < maxThreads else {
                state.waiting.append(body)
                return false
            }
            state.running += 1
            return true
        }
        guard starts else { return }
        startThread(named: "sluice-resolve") { [self] in
            var next: (@Sendable () -> Void)? = body
            while let work = next {
                work()
                next = state.withLock { state in
                    if !state.waiting.isEmpty { return state.waiting.removeFirst() }
                    state.running -= 1
                    return nil
                }
            }
        }
    }
}
