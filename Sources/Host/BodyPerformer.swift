internal import CLinux
internal import Glibc

/// Runs bodies that block on threads of its own.
package protocol BodyPerformer: Sendable {
    typealias Body = @Sendable () -> Void

    /// Hands a body in and returns at once.
    /// - Parameter isUrgent: it begins before the bodies that are not urgent.
    func perform(isUrgent: Bool, _ body: @escaping Body)
}

extension BodyPerformer {
    /// Runs `body`, which may block, and waits for its result without blocking.
    package func run<Value: Sendable, Failure: Error>(
        isUrgent: Bool = false, _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, Failure>, Never>) in
            perform(isUrgent: isUrgent) {
                continuation.resume(returning: Result { () throws(Failure) in try body() })
            }
        }.get()
    }
}

/// Bodies that wait for a thread: the urgent ones first, and those of a kind in the order of their calls.
struct BodyQueue {
    typealias Body = BodyPerformer.Body

    private struct Line {
        private var new: [Body] = []
        /// The first one last.
        private var next: [Body] = []

        var isEmpty: Bool { new.isEmpty && next.isEmpty }

        mutating func append(_ body: @escaping Body) { new.append(body) }

        mutating func popFirst() -> Body? {
            if next.isEmpty {
                next = new.reversed()
                new.removeAll(keepingCapacity: true)
            }
            return next.popLast()
        }
    }

    private var urgent = Line()
    private var others = Line()

    var isEmpty: Bool { urgent.isEmpty && others.isEmpty }

    mutating func append(_ body: @escaping Body, isUrgent: Bool = false) {
        if isUrgent { urgent.append(body) } else { others.append(body) }
    }

    mutating func popFirst() -> Body? { urgent.popFirst() ?? others.popFirst() }

    mutating func popUrgent() -> Body? { urgent.popFirst() }
}

/// Runs `body` on a new thread: for work that blocks, and so must not run on the cooperative pool. Without a
/// thread the process ends, with exit code 75 of sysexits.h (“try again”): the limit may have room in a while.
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) {
    let code = newThread(named: name, body)
    guard code != 0 else { return }
    let words =
        "sluice: \(SystemError(code, attempt: "start the thread “\(name)”")); raise the limit of processes and threads "
        + "(ulimit -u, TasksMax= of a unit, pids.max of a control group)\n"
    _ = words.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    _exit(75)
}

/// - Returns: 0, or an error code: EAGAIN while the user or the system has too many threads.
func newThread(named name: String, _ body: @escaping @Sendable () -> Void) -> CInt {
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
    guard code == 0 else {
        start.release()
        return code
    }
    pthread_detach(thread)
    return 0
}
