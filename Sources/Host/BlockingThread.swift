internal import CLinux
internal import Dispatch
internal import Glibc
internal import Synchronization

/// Runs `body` on a new thread: for work that blocks, and so must not run on the cooperative pool.
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) {
    final class Start {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
    var thread = pthread_t()
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    let code = pthread_create(
        &thread, nil,
        { argument in
            guard let argument else { return nil }
            let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
            _ = clinux_name_thread(start.name)
            start.body()
            return nil
        }, start.toOpaque())
    precondition(code == 0, "\(SystemError(code, attempt: "start a thread"))")
    pthread_detach(thread)
}

/// Runs `body`, which blocks, on a new thread, and waits for its result without blocking.
package func onThread<Value: Sendable, Failure: Error>(
    _ name: String, _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, Failure>, Never>) in
        startThread(named: name) {
            continuation.resume(returning: Result { () throws(Failure) in try body() })
        }
    }
    return try result.get()
}

/// A thread that runs blocking work, one body after the other.
package final class BlockingThread: Sendable {
    private struct Queue {
        var bodies: [@Sendable () -> Void] = []
        var urgent: [@Sendable () -> Void] = []
        var isIdle = false
        var isClosed = false
    }

    private let queue = Mutex(Queue())
    private let wake = DispatchSemaphore(value: 0)

    package init(named name: String) {
        startThread(named: name) { [self] in run() }
    }

    /// Runs `body` after those that were handed in before.
    /// - Parameter isUrgent: before those that are not urgent. The one that runs is not interrupted.
    package func perform(isUrgent: Bool = false, _ body: @escaping @Sendable () -> Void) {
        let wakes = queue.withLock { queue in
            if isUrgent { queue.urgent.append(body) } else { queue.bodies.append(body) }
            defer { queue.isIdle = false }
            return queue.isIdle
        }
        if wakes { wake.signal() }
    }

    /// Ends the thread after the bodies that were handed in so far.
    package func close() {
        perform { [self] in queue.withLock { $0.isClosed = true } }
    }

    private func run() {
        while true {
            let (bodies, isClosed) = queue.withLock { queue -> ([@Sendable () -> Void], Bool) in
                defer { queue.bodies = [] }
                queue.isIdle = queue.bodies.isEmpty && queue.urgent.isEmpty
                return (queue.bodies, queue.isClosed)
            }
            let hadUrgent = runUrgent()
            for body in bodies {
                body()
                _ = runUrgent()
            }
            if bodies.isEmpty, !hadUrgent {
                if isClosed { return }
                wake.wait()
            }
        }
    }
    /// - Returns: whether there were any.
    private func runUrgent() -> Bool {
        let bodies = queue.withLock { queue in
            defer { queue.urgent = [] }
            return queue.urgent
        }
        for body in bodies { body() }
        return !bodies.isEmpty
    }
}
