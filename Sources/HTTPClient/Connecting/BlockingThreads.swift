internal import Host
internal import Synchronization

/// Threads for calls that block for seconds, made when one is needed: a name that does not resolve holds its thread for as
/// long as the resolver waits, and must hold up no other name. An idle process has none.
final class BlockingThreads: Sendable {
    static let shared = BlockingThreads(maxThreads: 256)

    private struct State {
        var running = 0
        var waiting: [@Sendable () -> Void] = []
    }

    private let maxThreads: Int
    private let state = Mutex(State())

    init(maxThreads: Int) { self.maxThreads = maxThreads }

    /// Runs `body` on a thread of its own; where ``maxThreads`` run, behind what waits already.
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
