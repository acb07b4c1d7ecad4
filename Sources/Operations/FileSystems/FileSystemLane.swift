internal import CLinux
internal import Commands
internal import Dispatch
internal import Glibc
internal import Host
internal import Synchronization

/// The threads that make blocking calls to one file system. A file system that does not answer holds these threads and no
/// others.
///
/// Threads start when calls wait, up to a limit, and end after ``idleTime`` without one. When the file system has not
/// answered for ``silenceLimit``, calls that wait are refused, and so are new ones but one in each ``silenceLimit``, which
/// tries it again. A call that hangs is answered ``cancelLimit`` after its task was cancelled, and after a limit of the lane at
/// the latest; its thread stays with the kernel.
package final class FileSystemLane: Sendable {
    package static let silenceLimit: Duration = .seconds(5)
    static let cancelLimit: Duration = .milliseconds(500)
    static let idleTime = DispatchTimeInterval.seconds(5)
    /// Calls that may wait at once.
    static let maxWaiting = 2048

    private final class Job: Sendable {
        typealias Work = @Sendable () -> @Sendable () -> Void

        let call: LaneCall
        /// Cleaning up is never refused.
        let mayBeRefused: Bool
        let refuse: @Sendable (any Error) -> Void
        private let work: Mutex<Work?>

        init(
            _ call: LaneCall, mayBeRefused: Bool, refuse: @escaping @Sendable (any Error) -> Void,
            work: @escaping Work
        ) {
            self.call = call
            self.mayBeRefused = mayBeRefused
            self.refuse = refuse
            self.work = Mutex(work)
        }

        /// Does the work, and releases what it holds.
        /// - Returns: what hands the result over.
        func perform() -> @Sendable () -> Void {
            let taken = work.withLock { work -> Work? in
                defer { work = nil }
                return work
            }
            guard let taken else { return {} }
            return taken()
        }
    }

    private struct State {
        var waiting: [Job] = []
        /// Calls in the kernel, by number, and when they began.
        var running: [Int: (job: Job, began: Int64)] = [:]
        var nextNumber = 0
        var threads = 0
        var idleThreads = 0
        var lastAnswer: Int64 = 0
        var lastTry: Int64 = 0
        var isWatched = false

        /// How long the calls in the kernel have gone without an answer to any.
        func silence(now: Int64) -> Duration {
            guard let first = running.values.lazy.map(\.began).min() else { return .zero }
            return .nanoseconds(max(now - max(first, lastAnswer), 0))
        }
    }

    /// The mount point, in sentences.
    let name: String
    private let maxThreads: Int
    private let callLimit: Duration
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - name: the mount point, for sentences.
    ///   - maxThreads: calls in the kernel at once.
    ///   - callLimit: how long a call may hang before it is answered in the file system's place.
    package init(name: String, maxThreads: Int, callLimit: Duration) {
        self.name = name
        self.maxThreads = maxThreads
        self.callLimit = callLimit
    }

    // MARK: Calls

    /// Makes a call.
    /// - Parameters:
    ///   - work: runs on a thread of the lane.
    ///   - late: given a result that came after the call was answered.
    /// - Throws: what `work` throws; `CancellationError` where the task is cancelled first; a ``CommandFailure`` of the fault
    ///   `link`, uncharged, where the file system does not answer.
    package func run<Value: Sendable>(
        _ work: @escaping @Sendable (LaneCall) throws -> Value, late: @escaping @Sendable (Value) -> Void = { _ in }
    ) async throws -> Value {
        let call = LaneCall()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(call, work, late: late, completion: { continuation.resume(with: $0) })
            }
        } onCancel: {
            cancel(call)
        }
    }

    /// Runs what clears away, in its turn, whatever else the lane refuses. Returns when that is done, or when the lane is
    /// silent: it is done later then.
    package func clear(_ work: @escaping @Sendable () -> Void) async {
        let call = LaneCall()
        call.cancel(now: clinux_monotonic())
        await withCheckedContinuation { continuation in
            add(call, { _ in work() }, mayBeRefused: false, completion: { _ in continuation.resume() })
        }
    }

    /// As ``clear(_:)``, for what nothing waits for.
    func clearLater(_ work: @escaping @Sendable () -> Void) {
        add(LaneCall(), { _ in work() }, mayBeRefused: false, completion: { _ in })
    }

    /// Makes a call whose answer goes to `completion`, on any thread.
    func add<Value: Sendable>(
        _ call: LaneCall, _ work: @escaping @Sendable (LaneCall) throws -> Value, mayBeRefused: Bool = true,
        late: @escaping @Sendable (Value) -> Void = { _ in },
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        let job = Job(
            call, mayBeRefused: mayBeRefused,
            refuse: { error in if call.answer() { completion(.failure(error)) } },
            work: {
                let result = Result { try work(call) }
                return {
                    if call.answer() { completion(result) } else if case .success(let value) = result { late(value) }
                }
            })
        if let refusal = enqueue(job) { job.refuse(refusal) }
    }

    private func enqueue(_ job: Job) -> (any Error)? {
        let now = Int64(clinux_monotonic())
        let (refusal, starts, watches) = state.withLock { state -> ((any Error)?, Bool, Bool) in
            if job.mayBeRefused {
                if job.call.hasBeenCancelled(for: .zero, now: now) { return (CancellationError(), false, false) }
                let silence = state.silence(now: now)
                if silence >= Self.silenceLimit {
                    let isRecent = now - state.lastTry < Self.silenceLimit.nanoseconds
                    if isRecent || state.running.count >= maxThreads { return (unanswered(silence), false, false) }
                }
                guard state.waiting.count < Self.maxWaiting else { return (overloaded, false, false) }
            }
            state.lastTry = now
            state.waiting.append(job)
            defer { state.isWatched = true }
            if state.idleThreads > 0 {
                state.idleThreads -= 1
                wake.signal()
                return (nil, false, !state.isWatched)
            }
            guard state.threads < maxThreads else { return (nil, false, !state.isWatched) }
            state.threads += 1
            return (nil, true, !state.isWatched)
        }
        if starts { startThread() }
        if watches { LaneWatch.shared.watch(self) }
        return refusal
    }

    /// A call that waits ends at once; one in the kernel may still end by itself for a moment.
    private func cancel(_ call: LaneCall) {
        call.cancel(now: clinux_monotonic())
        let job = state.withLock { state -> Job? in
            guard let index = state.waiting.firstIndex(where: { $0.call === call && $0.mayBeRefused }) else {
                return nil
            }
            return state.waiting.remove(at: index)
        }
        job?.refuse(CancellationError())
    }

    // MARK: Silence

    /// Answers what has waited for too long.
    /// - Returns: false where nothing is left to look after.
    func look(now: Int64) -> Bool {
        let (refused, isBusy) = state.withLock { state -> ([(Job, any Error)], Bool) in
            let silence = state.silence(now: now)
            var refused: [(Job, any Error)] = []
            if silence >= Self.silenceLimit {
                refused += state.waiting.filter(\.mayBeRefused).map { ($0, unanswered(silence)) }
                state.waiting.removeAll(where: \.mayBeRefused)
            }
            // What clears away keeps its turn, but nothing waits for it any longer.
            for job in state.waiting where job.call.hasBeenCancelled(for: Self.cancelLimit, now: now) {
                refused.append((job, CancellationError()))
            }
            for (job, began) in state.running.values where !job.call.isAbandoned {
                if job.call.hasBeenCancelled(for: Self.cancelLimit, now: now) {
                    refused.append((job, CancellationError()))
                } else if now - began >= callLimit.nanoseconds, silence >= Self.silenceLimit {
                    refused.append((job, unanswered(silence)))
                }
            }
            state.isWatched = !state.running.isEmpty || !state.waiting.isEmpty
            return (refused, state.isWatched)
        }
        for (job, error) in refused { job.refuse(error) }
        return isBusy
    }

    private func unanswered(_ silence: Duration) -> CommandFailure {
        failure("the file system at \(name) has not answered for \(silence.components.seconds) s")
    }

    private var overloaded: CommandFailure { failure("\(Self.maxWaiting) calls wait for the file system at \(name)") }

    /// Uncharged. The destination is not to blame, so the failure counts as no failure of its link.
    private func failure(_ reason: String) -> CommandFailure {
        var failure = CommandFailure(.link, reason: reason, retryAfter: Self.silenceLimit)
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
                Unmanaged<FileSystemLane>.fromOpaque(context).takeRetainedValue().serve()
            }, context.toOpaque())
        guard code != 0 else { return }
        context.release()
        let refused = state.withLock { state -> [Job] in
            state.threads -= 1
            // Another thread of the lane takes what waits.
            guard state.threads == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for job in refused { job.refuse(failure("no thread can be started: \(SystemError(code))")) }
    }

    private func serve() {
        while true {
            guard let (number, job) = next() else {
                if wake.wait(timeout: .now() + Self.idleTime) == .timedOut, ends() { return }
                continue
            }
            let handOver = job.perform()
            state.withLock { state in
                state.running[number] = nil
                state.lastAnswer = Int64(clinux_monotonic())
            }
            handOver()
        }
    }

    /// The call whose turn it is; without one, this thread counts as idle.
    private func next() -> (number: Int, job: Job)? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.idleThreads += 1
                return nil
            }
            let job = state.waiting.removeFirst()
            state.nextNumber += 1
            state.running[state.nextNumber] = (job, Int64(clinux_monotonic()))
            return (state.nextNumber, job)
        }
    }

    /// - Returns: false where a call has woken this thread just now; the signal is taken then.
    private func ends() -> Bool {
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

extension Duration {
    fileprivate var nanoseconds: Int64 { Int64(self / .nanoseconds(1)) }
}
