import CLinux
import Glibc
package import Logging
import ServiceLifecycle
import Subprocess
import Synchronization
import SystemPackage

/// Starts children, restarts those that die, and ends them in order.
///
/// Life of a child: its standard input is a pipe that the supervisor alone holds open, so the child reads the end of
/// file when the supervisor is gone, however that happened, and then ends by itself. Its standard output is the
/// supervisor's own; its standard error is passed on line by line (so a child whose supervisor died must ignore
/// SIGPIPE). No other descriptor is inherited.
///
/// Each child leads a process group of its own: Ctrl-C on a terminal reaches the supervisor alone, which ends them in
/// order, where a shared group would have every child end at once, before its work is drained.
package final class Supervisor: Service {
    private struct State {
        var fleet: Fleet
        /// Running children: a signal sent through the descriptor never reaches a later owner of the number.
        var running: [String: (pid: Int32, pidfd: CInt)] = [:]
        /// Of children that wait for their restart.
        var naps: [String: Task<Void, Never>] = [:]
    }

    private let executable: String
    private let children: [ChildSpecification]
    private let gracePeriod: Duration
    private let logger: Logger
    private let onStart: @Sendable (_ name: String, _ pid: Int32) -> Void
    private let beforeKill: @Sendable (_ pid: Int32) -> Void
    private let onExit: @Sendable (ChildExit) -> Void
    private let errorDestination: CInt
    private let state: Mutex<State>
    private let graces = AsyncStream<ChildSpecification.Stage>.makeStream()

    /// - Parameters:
    ///   - executable: a path.
    ///   - gracePeriod: from SIGTERM to SIGKILL, for each stage; above the grace that the children take themselves.
    ///   - onStart: called after each start of a child, when it can be signalled.
    ///   - beforeKill: called before a child gets SIGKILL.
    ///   - onExit: called after each end of a child, before its restart.
    ///   - errorDestination: the descriptor that the children's standard error is passed on to.
    package init(
        executable: String, children: [ChildSpecification], policy: RestartPolicy = RestartPolicy(),
        gracePeriod: Duration = .seconds(30), logger: Logger, errorDestination: CInt = STDERR_FILENO,
        onStart: @escaping @Sendable (_ name: String, _ pid: Int32) -> Void = { _, _ in },
        beforeKill: @escaping @Sendable (_ pid: Int32) -> Void = { _ in },
        onExit: @escaping @Sendable (ChildExit) -> Void = { _ in }
    ) {
        self.executable = executable
        self.children = children
        self.gracePeriod = gracePeriod
        self.logger = logger
        self.onStart = onStart
        self.beforeKill = beforeKill
        self.onExit = onExit
        self.errorDestination = errorDestination
        state = Mutex(State(fleet: Fleet(children, policy: policy)))
    }

    /// Returns when every child is gone after `stop` or a graceful shutdown; throws `SupervisionError.hopeless` when one
    /// died too often, after the others were ended in order. Cancelling kills every child. Runs once.
    package func run() async throws {
        if children.isEmpty { return }
        let lifeline = try Pipe.make()
        defer {
            close(lifeline.read)
            close(lifeline.write)
        }
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await superviseAll(lifeline: lifeline.read)
            } onGracefulShutdown: {
                self.stop()
            }
        } onCancel: {
            obey { $0.killAll() }
        }
        if let failure = state.withLock({ $0.fleet.failure }) { throw failure }
        try Task.checkCancellation()
    }

    /// The first call ends the children in order: SIGTERM to those of the first stage, to the next when they are gone,
    /// SIGKILL to what outlives its grace. The second call kills all. From any thread.
    package func stop() {
        obey { $0.stop() }
    }

    /// Kills a child that hangs; it is started again at once, and its death counts for nothing. From any thread.
    package func kill(_ name: String) {
        obey { $0.kill(name) }
    }

    /// By the children's names.
    package var status: [String: ChildStatus] {
        state.withLock { $0.fleet.status }
    }

    // MARK: Life

    private func superviseAll(lifeline: CInt) async {
        await withDiscardingTaskGroup { group in
            for child in children {
                group.addTask { await self.supervise(child, lifeline: lifeline) }
            }
            group.addTask { await self.watchGraces() }
        }
    }

    private func supervise(_ child: ChildSpecification, lifeline: CInt) async {
        while state.withLock({ $0.fleet.mayStart(child.name) }) {
            let (pid, status, lastLines) = await runOnce(child, lifeline: lifeline)
            let now = clinux_monotonic()
            func exit(ordered: Bool) -> ChildExit {
                ChildExit(name: child.name, pid: pid, status: status, ordered: ordered, lastLines: lastLines)
            }
            let outcome = state.withLock { $0.fleet.exited(child.name, now: now, error: exit) }
            // Told before it is acted upon: whom the orders end is not told of first.
            report(exit(ordered: outcome.ordered), next: outcome.next)
            obey { _ in outcome.orders }
            guard case .restart(let delay) = outcome.next else { return }
            await nap(child.name, for: delay)
        }
        obey { $0.ended(child.name) }
    }

    private func report(_ exit: ChildExit, next: Fleet.Next) {
        let metadata: Logger.Metadata = [
            "child.name": "\(exit.name)", "child.pid": "\(exit.pid)", "child.status": "\(exit.status)",
        ]
        switch next {
        case .restart(let delay):
            logger.warning("A child died and is started again in \(delay)", metadata: metadata)
        case .end where exit.ordered:
            logger.debug("A child ended", metadata: metadata)
        case .end:
            logger.error("A child died too often", metadata: metadata)
        }
        onExit(exit)
    }

    private func runOnce(_ child: ChildSpecification, lifeline: CInt) async -> (Int32, ChildExit.Status, [String]) {
        do {
            let relay = try StandardErrorRelay(destination: errorDestination)
            var options = PlatformOptions()
            options.processGroupID = 0
            let started = Atomic<Int32>(0)
            let outcome: Result<TerminationStatus, any Error>
            do {
                let result = try await Subprocess.run(
                    .path(FilePath(executable)), arguments: Arguments(child.arguments),
                    environment: .inherit.updating(
                        Dictionary(
                            uniqueKeysWithValues: child.environment.map { (Environment.Key(stringLiteral: $0), $1) })),
                    platformOptions: options,
                    input: .fileDescriptor(FileDescriptor(rawValue: lifeline), closeAfterSpawningProcess: false),
                    output: .currentStandardOutput,
                    error: .fileDescriptor(FileDescriptor(rawValue: relay.writeEnd), closeAfterSpawningProcess: true)
                ) { execution in
                    let pid = execution.processIdentifier.value
                    started.store(pid, ordering: .relaxed)
                    // Not reaped before this returns, so that the number is still its own.
                    adopt(child.name, pid: pid)
                }
                outcome = .success(result.terminationStatus)
            } catch {
                outcome = .failure(error)
            }
            disown(child.name)
            let lines = await relay.lastLines()
            return (started.load(ordering: .relaxed), ChildExit.Status(outcome), lines)
        } catch {
            return (0, .notStarted("\(error)"), [])
        }
    }

    private func adopt(_ name: String, pid: Int32) {
        let pidfd = clinux_pidfd_open(pid)
        guard pidfd >= 0 else {
            logger.error(
                "A child cannot be watched and is killed", metadata: ["child.name": "\(name)", "errno": "\(errno)"])
            Glibc.kill(pid, SIGKILL)
            return
        }
        state.withLock { $0.running[name] = (pid, pidfd) }
        logger.debug("A child started", metadata: ["child.name": "\(name)", "child.pid": "\(pid)"])
        obey { $0.started(name, pid: pid, now: clinux_monotonic()) }
        onStart(name, pid)
    }

    private func disown(_ name: String) {
        state.withLock { state in
            if let child = state.running.removeValue(forKey: name) { close(child.pidfd) }
        }
    }

    /// Until the delay is over or a stop makes the restart pointless.
    private func nap(_ name: String, for delay: Duration) async {
        let nap = Task<Void, Never> { try? await Task.sleep(for: delay) }
        let isPointless = state.withLock { state in
            state.naps[name] = nap
            return !state.fleet.mayStart(name)
        }
        if isPointless { nap.cancel() }
        await nap.value
        state.withLock { _ = $0.naps.removeValue(forKey: name) }
    }

    private func watchGraces() async {
        await withDiscardingTaskGroup { group in
            for await stage in graces.stream {
                group.addTask {
                    try? await Task.sleep(for: self.gracePeriod)
                    if !Task.isCancelled { self.obey { $0.graceEnded(stage) } }
                }
            }
            group.cancelAll()
        }
    }

    // MARK: Orders

    /// Tells the fleet what happened and does what it orders.
    private func obey(_ event: (inout Fleet) -> [Fleet.Order]) {
        state.withLock { state in
            for order in event(&state.fleet) {
                switch order {
                case .signal(let name, let number):
                    guard let child = state.running[name] else { continue }
                    if number == SIGKILL { beforeKill(child.pid) }
                    _ = clinux_pidfd_send_signal(child.pidfd, number)
                case .wake(let name):
                    state.naps[name]?.cancel()
                case .beginGrace(let stage):
                    graces.continuation.yield(stage)
                case .allGone:
                    graces.continuation.finish()
                }
            }
        }
    }
}

extension ChildExit.Status {
    init(_ outcome: Result<TerminationStatus, any Error>) {
        switch outcome {
        case .success(.exited(let code)): self = .exited(code)
        case .success(.signaled(let number)): self = .signaled(number)
        case .failure(let error): self = .notStarted("\(error)")
        }
    }
}
