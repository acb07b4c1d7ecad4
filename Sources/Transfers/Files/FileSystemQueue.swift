internal import CLinux
internal import Commands
internal import Host
internal import Synchronization

/// Makes blocking calls to one file system, on threads of its own. A file system that does not answer blocks
/// these threads and no others.
///
/// Threads start when calls wait, up to a limit, and end after ``idleTimeout`` without a call. When the file
/// system has not answered for ``silenceTimeout``, waiting calls are refused. New calls are refused too,
/// except one per ``silenceTimeout``, which tests the file system again. A hung call is answered
/// ``cancellationTimeout`` after its task was cancelled, and at the latest after the call timeout; its thread
/// stays blocked in the kernel.
package final class FileSystemQueue: Sendable {
    package static let silenceTimeout: Duration = .seconds(5)
    static let cancellationTimeout: Duration = .milliseconds(500)
    static let idleTimeout = Duration.seconds(5)
    /// The maximum number of waiting calls.
    static let maxWaiting = 2048

    private struct State {
        var waiting: [FileSystemJob] = []
        /// Calls in the kernel, by number, and when they started.
        var running: [Int: (job: FileSystemJob, startedAt: MonotonicTime)] = [:]
        var nextNumber = 0
        var threads = 0
        var idleThreads = 0
        var lastAnswer = MonotonicTime.zero
        /// When a call was last accepted.
        var lastAttempt = MonotonicTime.zero
        var isMonitored = false

        /// How long the calls in the kernel have gone without an answer to any.
        func silence(now: MonotonicTime) -> Duration {
            guard let first = running.values.lazy.map(\.startedAt).min() else { return .zero }
            return max(now - max(first, lastAnswer), .zero)
        }
    }

    private enum Admission {
        case accepted(startsThread: Bool, startsMonitoring: Bool)
        case refused(any Error)
    }

    /// The mount point, for messages.
    let name: String
    private let maxThreads: Int
    private let callTimeout: Duration
    private let state = Mutex(State())
    private let wake = MonotonicSemaphore(value: 0)

    /// - Parameters:
    ///   - name: the mount point, for messages.
    ///   - maxThreads: the maximum number of calls in the kernel.
    ///   - callTimeout: how long a call may hang before it is answered with a failure.
    package init(name: String, maxThreads: Int, callTimeout: Duration) {
        self.name = name
        self.maxThreads = maxThreads
        self.callTimeout = callTimeout
    }

    // MARK: Calls

    /// Makes a call.
    /// - Parameters:
    ///   - work: runs on a thread of the queue.
    ///   - onLateResult: gets a result that comes after the call was answered.
    /// - Throws: the error of `work`; `CancellationError` where the task is cancelled first; an uncharged
    ///   ``CommandFailure`` of the fault `link` where the file system does not answer.
    package func run<Value: Sendable>(
        _ work: @escaping @Sendable (FileSystemCall) throws -> Value,
        onLateResult: @escaping @Sendable (Value) -> Void = { _ in }
    ) async throws -> Value {
        let call = FileSystemCall()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(call, work, onLateResult: onLateResult, completion: { continuation.resume(with: $0) })
            }
        } onCancel: {
            cancel(call)
        }
    }

    /// Runs a clean-up in its turn. It is never refused. Returns when it is done; while the file system is
    /// silent, returns earlier, and the clean-up runs later.
    /// - Returns: whether it is done.
    @discardableResult
    package func cleanUp(_ work: @escaping @Sendable () -> Void) async -> Bool {
        let call = FileSystemCall()
        call.cancel(now: .now)
        return await withCheckedContinuation { continuation in
            add(
                call, { _ in work() }, mayBeRefused: false,
                completion: { continuation.resume(returning: (try? $0.map { true }.get()) ?? false) })
        }
    }

    /// As ``cleanUp(_:)``, without waiting.
    package func cleanUpLater(_ work: @escaping @Sendable () -> Void) {
        add(FileSystemCall(), { _ in work() }, mayBeRefused: false, completion: { _ in })
    }

    /// Makes a call whose answer goes to `completion`, on any thread.
    func add<Value: Sendable>(
        _ call: FileSystemCall, _ work: @escaping @Sendable (FileSystemCall) throws -> Value,
        mayBeRefused: Bool = true, onLateResult: @escaping @Sendable (Value) -> Void = { _ in },
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        let job = FileSystemJob(
            call, mayBeRefused: mayBeRefused,
            refuse: { error in if call.answer() { completion(.failure(error)) } },
            work: {
                let result = Result { try work(call) }
                return {
                    if call.answer() {
                        completion(result)
                    } else if case .success(let value) = result {
                        onLateResult(value)
                    }
                }
            })
        switch enqueue(job) {
        case .refused(let error): job.refuse(error)
        case .accepted(let startsThread, let startsMonitoring):
            if startsThread { startThread() }
            if startsMonitoring { HungCallMonitor.shared.monitor(self) }
        }
    }

    private func enqueue(_ job: FileSystemJob) -> Admission {
        let now = MonotonicTime.now
        return state.withLock { state in
            if job.mayBeRefused {
                if job.call.hasBeenCancelled(for: .zero, now: now) { return .refused(CancellationError()) }
                let silence = state.silence(now: now)
                if silence >= Self.silenceTimeout {
                    let isRecent = now - state.lastAttempt < Self.silenceTimeout
                    if isRecent || state.running.count >= maxThreads { return .refused(unanswered(silence)) }
                }
                guard state.waiting.count < Self.maxWaiting else { return .refused(overloaded) }
            }
            state.lastAttempt = now
            state.waiting.append(job)
            let startsMonitoring = !state.isMonitored
            state.isMonitored = true
            if state.idleThreads > 0 {
                state.idleThreads -= 1
                wake.signal()
                return .accepted(startsThread: false, startsMonitoring: startsMonitoring)
            }
            let startsThread = state.threads < maxThreads
            if startsThread { state.threads += 1 }
            return .accepted(startsThread: startsThread, startsMonitoring: startsMonitoring)
        }
    }

    /// Ends a waiting call at once. A call in the kernel may still end by itself within
    /// ``cancellationTimeout``.
    private func cancel(_ call: FileSystemCall) {
        call.cancel(now: .now)
        let job = state.withLock { state -> FileSystemJob? in
            guard let index = state.waiting.firstIndex(where: { $0.call === call && $0.mayBeRefused }) else {
                return nil
            }
            return state.waiting.remove(at: index)
        }
        job?.refuse(CancellationError())
    }

    // MARK: Silence

    /// Answers the calls that have waited for too long.
    /// - Returns: false where no call is left.
    func failOverdueCalls(now: MonotonicTime) -> Bool {
        let (refused, isBusy) = state.withLock { state -> ([(FileSystemJob, any Error)], Bool) in
            let silence = state.silence(now: now)
            var refused: [(FileSystemJob, any Error)] = []
            if silence >= Self.silenceTimeout {
                refused += state.waiting.filter(\.mayBeRefused).map { ($0, unanswered(silence)) }
                state.waiting.removeAll(where: \.mayBeRefused)
            }
            // A clean-up stays in the queue, but its caller waits no longer.
            for job in state.waiting where job.call.hasBeenCancelled(for: Self.cancellationTimeout, now: now) {
                refused.append((job, CancellationError()))
            }
            for (job, startedAt) in state.running.values where !job.call.isAbandoned {
                if job.call.hasBeenCancelled(for: Self.cancellationTimeout, now: now) {
                    refused.append((job, CancellationError()))
                } else if now - startedAt >= callTimeout, silence >= Self.silenceTimeout {
                    refused.append((job, unanswered(silence)))
                }
            }
            state.isMonitored = !state.running.isEmpty || !state.waiting.isEmpty
            return (refused, state.isMonitored)
        }
        for (job, error) in refused { job.refuse(error) }
        return isBusy
    }

    private func unanswered(_ silence: Duration) -> CommandFailure {
        failure("the file system at \(name) has not answered for \(silence.components.seconds) s")
    }

    private var overloaded: CommandFailure { failure("\(Self.maxWaiting) calls wait for the file system at \(name)") }

    /// An uncharged failure. The destination did not cause it, so it does not count as a failure of its link.
    private func failure(_ reason: String) -> CommandFailure {
        var failure = CommandFailure(.link, reason: reason, retryAfter: Self.silenceTimeout)
        failure.isAnswer = true
        return failure
    }

    // MARK: Threads

    private func startThread() {
        let context = Unmanaged.passRetained(self)
        let code = clinux_start_thread(
            "sluice-files",
            { context in
                guard let context else { return }
                Unmanaged<FileSystemQueue>.fromOpaque(context).takeRetainedValue().serve()
            }, context.toOpaque())
        guard code != 0 else { return }
        context.release()
        let refused = state.withLock { state -> [FileSystemJob] in
            state.threads -= 1
            // If the queue has another thread, that one takes the waiting calls.
            guard state.threads == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for job in refused { job.refuse(failure("no thread can be started: \(SystemError(code))")) }
    }

    private func serve() {
        while true {
            guard let (number, job) = next() else {
                if !wake.wait(timeout: Self.idleTimeout), endsThread() { return }
                continue
            }
            let handOver = job.perform()
            state.withLock { state in
                state.running[number] = nil
                state.lastAnswer = .now
            }
            handOver()
        }
    }

    /// Takes the next call. Without one, this thread counts as idle.
    private func next() -> (number: Int, job: FileSystemJob)? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.idleThreads += 1
                return nil
            }
            let job = state.waiting.removeFirst()
            state.nextNumber += 1
            state.running[state.nextNumber] = (job, .now)
            return (state.nextNumber, job)
        }
    }

    /// - Returns: false where a call has woken this thread meanwhile; the signal is consumed then.
    private func endsThread() -> Bool {
        let ends = state.withLock { state -> Bool in
            guard state.idleThreads > 0 else { return false }
            state.idleThreads -= 1
            state.threads -= 1
            return true
        }
        if !ends { wake.wait() }
        return ends
    }
}
