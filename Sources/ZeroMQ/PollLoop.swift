import CLinux
import CZeroMQ
import Dispatch
import Glibc
package import Host
import Synchronization

/// One thread that owns sockets, waits for them and for descriptors, and runs actors.
///
/// A round: wait until something is readable, work has been handed in, or the deadline has passed. Then serve
/// the readable ones in the order of registration, then the work in the order it came, then `tick`, which
/// returns the next deadline.
///
/// It is the executor of actors that return it as their `unownedExecutor`: their code runs on the thread, so
/// they use its sockets without a hop. Work that comes while the thread is awake costs no system call.
package final class PollLoop: SerialExecutor, Sendable {
    private enum Work {
        case job(UnownedJob)
        case body(@Sendable () -> Void)
    }

    private enum Phase {
        case awake
        /// Waiting: the next caller that adds work writes to the eventfd, and sets `awake`.
        case asleep
        /// The thread is gone. Work that is added now needs a thread of its own.
        case ended
        /// A short-lived thread runs the work that was added after the end.
        case late
    }

    private struct Inbox {
        var work: [Work] = []
        var phase = Phase.awake
        var isStopping = false
        var waitingForEnd: [@Sendable () -> Void] = []

        /// - Returns: true where the caller must wake the thread; the next caller need not.
        mutating func wakes() -> Bool {
            guard case .asleep = phase else { return false }
            phase = .awake
            return true
        }
    }

    /// Returns the next deadline, or nil for none.
    package typealias Tick = (_ now: MonotonicTime) -> MonotonicTime?

    /// Shown by ps and gdb: the first 15 bytes.
    package let name: String
    private let wakeDescriptor: CInt
    private let inbox = Mutex(Inbox())
    /// The pthread that runs the loop's work at this moment; 0: none.
    private let owner = Atomic<UInt>(0)
    /// Used only on the loop's thread: every access goes through `confined`, which checks.
    nonisolated(unsafe) private let unchecked: PollSet

    /// Starts the thread. It runs until `stop`, and keeps the loop alive meanwhile.
    ///
    /// Throws where the process has no more descriptors or threads.
    package init(name: String) throws(ZeroMQError) {
        self.name = name
        wakeDescriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wakeDescriptor >= 0 else { throw .from(errno, "make the wake-up descriptor of loop \(name)") }
        unchecked = PollSet(wakeDescriptor: wakeDescriptor)
        try startThread { $0.run() }
    }

    deinit {
        Glibc.close(wakeDescriptor)
    }

    // MARK: From any thread

    /// Runs `body` on the loop soon, in the order of the calls.
    package func perform(_ body: @escaping @Sendable () -> Void) {
        add(.body(body))
    }

    /// Runs `body` on the loop and returns what it returned.
    package func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Value, Failure>, Never>) in
            perform {
                do throws(Failure) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    package func checkIsolated() {
        checkCurrent("an actor of the loop runs only on its thread")
    }

    package func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    /// Is the caller on the loop?
    package var isCurrent: Bool {
        owner.load(ordering: .relaxed) == pthread_self()
    }

    /// Ends the thread after its current round and after the work handed in so far; registrations and `tick`
    /// are dropped. Sockets stay open until their owners close them. Work handed in later is not lost: it
    /// runs on a thread made for it.
    package func stop() {
        let wakes = inbox.withLock { inbox in
            inbox.isStopping = true
            return inbox.wakes()
        }
        if wakes { wake() }
    }

    /// Returns when the thread has ended.
    package func stopped() async {
        await withCheckedContinuation { continuation in
            whenStopped { continuation.resume() }
        }
    }

    /// Blocks until the thread has ended. Not from the loop, and not from an async function.
    package func join() {
        if isCurrent { fatalError("loop \(name) cannot wait for its own end: call join from another thread") }
        let semaphore = DispatchSemaphore(value: 0)
        whenStopped { semaphore.signal() }
        semaphore.wait()
    }

    // MARK: On the loop

    /// Called at the end of each round and when the deadline that it returned has passed. On the loop.
    package var tick: Tick? {
        get { confined.tick }
        set { confined.tick = newValue }
    }

    /// Calls `body` whenever `socket` may have something to receive, until the registration is removed or the
    /// socket closes. On the loop.
    ///
    /// `body` receives until nil; where it stops earlier it is called again in the next round, after the
    /// others.
    @discardableResult
    package func whenReadable(_ socket: borrowing Socket, _ body: @escaping () -> Void) -> Registration {
        let transport = socket.checked()
        transport.mayBeReadable = true
        return confined.add(descriptor: transport.descriptor, transport: transport, body: body)
    }

    /// Calls `body` in each round in which `descriptor` is readable, hung up or in error, until removed. On
    /// the loop.
    ///
    /// Remove the registration before you close the descriptor.
    @discardableResult
    package func whenReadable(descriptor: CInt, _ body: @escaping () -> Void) -> Registration {
        confined.add(descriptor: descriptor, transport: nil, body: body)
    }

    /// Its body is not called again, not even in this round. Removing twice does nothing. On the loop.
    package func remove(_ registration: Registration) {
        confined.remove { $0.number == registration.number }
    }

    /// A transport calls it when it closes. On the loop.
    package func forget(_ transport: any MessageTransport) {
        confined.remove { $0.transport === transport }
    }

    /// Traps with a sentence, in release builds too, unless the caller is on the loop.
    func checkCurrent(_ rule: @autoclosure () -> String) {
        if !isCurrent {
            fatalError("\(rule()): this call came from another thread than that of loop \(name)")
        }
    }

    private var confined: PollSet {
        checkCurrent("registrations and tick belong to the loop")
        return unchecked
    }

    // MARK: The thread

    private func run() {
        var batch: [Work] = []
        var deadline: MonotonicTime?
        while true {
            let timeout = sleepTime(until: deadline)
            let ready = unchecked.wait(timeout)
            let stopping = inbox.withLock { inbox in
                inbox.phase = .awake
                return inbox.isStopping
            }
            if ready { unchecked.serve(loop: name) }
            perform(&batch)
            if stopping { return end(&batch) }
            deadline = unchecked.tick?(.now)
        }
    }

    /// - Returns: zero where there is something to do already, nil without a deadline. Unless it is zero, the
    ///   phase is now `asleep`.
    private func sleepTime(until deadline: MonotonicTime?) -> Duration? {
        var timeout: Duration?
        if let deadline { timeout = max(.zero, deadline - .now) }
        if timeout == .zero || unchecked.anyMayBeReadable { return .zero }
        return inbox.withLock { inbox in
            if !inbox.work.isEmpty || inbox.isStopping { return .zero }
            inbox.phase = .asleep
            return timeout
        }
    }

    /// Runs the work that was added until now. Work that comes meanwhile waits for the next round, so that
    /// sockets are not starved.
    private func perform(_ batch: inout [Work]) {
        inbox.withLock { swap(&$0.work, &batch) }
        if batch.isEmpty { return }
        let executor = asUnownedSerialExecutor()
        for work in batch {
            switch work {
            case .job(let job): job.runSynchronously(on: executor)
            case .body(let body): body()
            }
        }
        // The memory of a burst is given back.
        batch.removeAll(keepingCapacity: batch.capacity <= 4096)
    }

    private func end(_ batch: inout [Work]) {
        unchecked.removeAll()
        finish(&batch)
    }

    /// Runs work until there is none, and marks the end in the same step.
    private func finish(_ batch: inout [Work]) {
        while true {
            perform(&batch)
            let waiting: [@Sendable () -> Void]? = inbox.withLock { inbox in
                guard inbox.work.isEmpty else { return nil }
                inbox.phase = .ended
                owner.store(0, ordering: .relaxed)
                defer { inbox.waitingForEnd = [] }
                return inbox.waitingForEnd
            }
            guard let waiting else { continue }
            for resume in waiting { resume() }
            return
        }
    }

    private func whenStopped(_ resume: @escaping @Sendable () -> Void) {
        let now = inbox.withLock { inbox in
            if case .ended = inbox.phase { return true }
            inbox.waitingForEnd.append(resume)
            return false
        }
        if now { resume() }
    }

    private func add(_ work: Work) {
        let (wakes, isLate) = inbox.withLock { inbox in
            inbox.work.append(work)
            if case .ended = inbox.phase {
                inbox.phase = .late
                return (false, true)
            }
            return (inbox.wakes(), false)
        }
        if wakes { wake() }
        if isLate { finishLate() }
    }

    /// Runs late work: an actor that outlives its loop must still end, and a socket that it holds must still
    /// close.
    private func finishLate() {
        do throws(ZeroMQError) {
            try startThread { loop in
                var batch: [Work] = []
                loop.finish(&batch)
            }
        } catch {
            fatalError("loop \(name) has ended and cannot run the work that was added since: \(error)")
        }
    }

    private func wake() {
        // Fails only where the counter is full, and then it is readable already.
        eventfd_write(wakeDescriptor, 1)
    }

    private func startThread(_ main: @escaping (PollLoop) -> Void) throws(ZeroMQError) {
        let start = Unmanaged.passRetained(ThreadStart(loop: self, main: main))
        var thread = pthread_t()
        let number = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
                start.loop.adoptThread()
                start.main(start.loop)
                return nil
            }, start.toOpaque())
        guard number == 0 else {
            start.release()
            throw .from(number, "start the thread of loop \(name)")
        }
        pthread_detach(thread)
    }

    private func adoptThread() {
        owner.store(pthread_self(), ordering: .relaxed)
        _ = clinux_name_thread(name)
        // Signals are for other threads, except those that this thread's own mistakes raise.
        var signals = sigset_t()
        sigfillset(&signals)
        for own in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { sigdelset(&signals, own) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    private final class ThreadStart {
        let loop: PollLoop
        let main: (PollLoop) -> Void

        init(loop: PollLoop, main: @escaping (PollLoop) -> Void) {
            self.loop = loop
            self.main = main
        }
    }
}
