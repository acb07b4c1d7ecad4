internal import CLinux
internal import Glibc

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
private func newThread(named name: String, _ body: @escaping @Sendable () -> Void) -> CInt {
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

/// Runs `body`, which blocks, on a new thread, and waits for its result without blocking. While the user or
/// the system has too many threads, for instance because of a program that forks, it waits for one.
package func onThread<Value: Sendable, Failure: Error>(
    _ name: String, _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    while true {
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Value, Failure>?, Never>) in
            let code = newThread(named: name) {
                continuation.resume(returning: Result { () throws(Failure) in try body() })
            }
            if code != 0 { continuation.resume(returning: nil) }
        }
        if let result { return try result.get() }
        // In a task of its own, because a cancelled one does not sleep.
        await Task { try? await Task.sleep(for: .milliseconds(100)) }.value
    }
}
