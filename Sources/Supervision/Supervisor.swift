import CLinux
import Glibc
import Host
package import Logging
import ServiceLifecycle
import Subprocess
import Synchronization
import SystemPackage

/// Starts children, restarts those that die, and ends them stage by stage.
///
/// The standard input of a child is a pipe that only the supervisor holds open. So the child reads the end of
/// file when the supervisor is gone, however that happened, and then ends by itself. Its standard output is
/// the supervisor's own. Its standard error is passed on line by line, so a child whose supervisor died must
/// ignore SIGPIPE. No other descriptor is inherited.
///
/// Each child leads a process group of its own: Ctrl-C on a terminal reaches only the supervisor, which ends
/// the children stage by stage. In a shared group every child would end at once, before its work is drained.
package final class Supervisor: Service {
    private struct State {
        var fleet: Fleet
        /// Running children. A signal sent through the pidfd never reaches a later process with the same
        /// number.
        var running: [String: (pid: Int32, pidfd: CInt)] = [:]
        /// The waits of children for their restart.
        var restartDelays: [String: Task<Void, Never>] = [:]
    }

    package struct Options: Sendable {
        package var policy = RestartPolicy()
        /// From SIGTERM to SIGKILL, for each stage; longer than the grace that the children take themselves.
        package var gracePeriod: Duration = .seconds(30)
        /// The descriptor that the children's standard error is passed on to.
        package var errorDestination: CInt = STDERR_FILENO

        package init() {}
    }

    package struct Callbacks: Sendable {
        /// Called after each start of a child, when it can receive signals.
        package var onStart: @Sendable (_ name: String, _ pid: Int32) -> Void = { _, _ in }
        /// Whether a child that has ended had been ready: its death does not count towards
        /// ``RestartPolicy/deathLimit``. May block.
        package var wasReady: @Sendable (_ name: String, _ pid: Int32) -> Bool = { _, _ in false }
        /// Called before a child gets SIGKILL.
        package var beforeKill: @Sendable (_ pid: Int32) -> Void = { _ in }
        /// Called after each end of a child, before its restart.
        package var onExit: @Sendable (ChildExit) -> Void = { _ in }

        package init() {}
    }

    private let executable: String
    private let children: [ChildSpecification]
    private let options: Options
    private let callbacks: Callbacks
    private let logger: Logger
    private let state: Mutex<State>
    private let graces = AsyncStream<Fleet.Grace>.makeStream()

    /// - Parameter executable: a path.
    package init(
        executable: String, children: [ChildSpecification], options: Options = Options(),
        callbacks: Callbacks = Callbacks(), logger: Logger
    ) {
        self.executable = executable
        self.children = children
        self.options = options
        self.callbacks = callbacks
        self.logger = logger
        state = Mutex(State(fleet: Fleet(children, policy: options.policy)))
    }

    /// Returns when every child is gone after `stop` or a graceful shutdown. Cancelling kills every child.
    /// Runs once.
    /// - Throws: `SupervisionError.tooManyDeaths` when a child died too often, after the others were ended.
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
            perform { $0.killAll() }
        }
        if let failure = state.withLock({ $0.fleet.failure }) { throw failure }
        try Task.checkCancellation()
    }

    /// The first call sends SIGTERM to the children of the first stage, then to those of the next stage when
    /// these are gone, and SIGKILL to a child that outlives its grace. The second call kills all. From any
    /// thread.
    package func stop() {
        perform { $0.stop() }
    }

    /// Ends one child after the other, in the order of their stages, each within its grace. A call of ``stop()``
    /// ends those that are left at once. From any thread.
    package func stopInTurn() {
        perform { $0.stopInTurn() }
    }

    /// Kills a child that hangs. It is started again at once, and its death does not count. From any thread.
    package func kill(_ name: String) {
        perform { $0.kill(name) }
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
        var failure: StartFailure?
        while state.withLock({ $0.fleet.mayStart(child.name) }) {
            let (pid, status, lastLines) = await runOnce(child, lifeline: lifeline, after: failure)
            let now = MonotonicTime.now
            func exit(isIntentional: Bool) -> ChildExit {
                ChildExit(
                    name: child.name, pid: pid, status: status, isIntentional: isIntentional, lastLines: lastLines)
            }
            let wasReady = await BlockingPool.shared.run { [callbacks] in callbacks.wasReady(child.name, pid) }
            let outcome = state.withLock { $0.fleet.exited(child.name, wasReady: wasReady, now: now, exit: exit) }
            let before = failure
            failure = wasReady || outcome.isIntentional ? nil : StartFailure(status, lastLines)
            // Report first: the actions may end other children, whose reports must come later.
            report(
                exit(isIntentional: outcome.isIntentional), next: outcome.next,
                isRepeated: failure != nil && failure == before)
            perform { _ in outcome.actions }
            guard case .restart(let delay) = outcome.next else { return }
            await awaitRestart(of: child.name, for: delay)
        }
        perform { $0.ended(child.name) }
    }

    /// - Parameter isRepeated: the child failed in the same way before, which was logged then.
    private func report(_ exit: ChildExit, next: Fleet.Next, isRepeated: Bool) {
        let metadata: Logger.Metadata = [
            "child.name": "\(exit.name)", "child.pid": "\(exit.pid)", "child.status": "\(exit.status)",
        ]
        switch next {
        case .restart(let delay) where isRepeated:
            logger.debug("A child failed as before and is started again in \(delay)", metadata: metadata)
        case .restart(let delay):
            logger.warning("A child died and is started again in \(delay)", metadata: metadata)
        case .end where exit.isIntentional:
            logger.debug("A child ended", metadata: metadata)
        case .end:
            logger.error("A child died too often", metadata: metadata)
        }
        callbacks.onExit(exit)
    }

    /// - Parameter failure: of the run before; its lines are not passed on once more.
    private func runOnce(
        _ child: ChildSpecification, lifeline: CInt, after failure: StartFailure?
    ) async -> (Int32, ChildExit.Status, [String]) {
        do {
            let relay = try StandardErrorRelay(destination: options.errorDestination) { failure?.has($0) ?? false }
            var platformOptions = PlatformOptions()
            platformOptions.processGroupID = 0
            let started = Atomic<Int32>(0)
            let outcome: Result<TerminationStatus, any Error>
            do {
                let result = try await Subprocess.run(
                    .path(FilePath(executable)), arguments: Arguments(child.arguments),
                    environment: .inherit.updating(
                        Dictionary(
                            uniqueKeysWithValues: child.environment.map { (Environment.Key(stringLiteral: $0), $1) })),
                    platformOptions: platformOptions,
                    input: .fileDescriptor(FileDescriptor(rawValue: lifeline), closeAfterSpawningProcess: false),
                    output: .currentStandardOutput,
                    error: .fileDescriptor(FileDescriptor(rawValue: relay.writeEnd), closeAfterSpawningProcess: true)
                ) { execution in
                    let pid = execution.processIdentifier.value
                    started.store(pid, ordering: .relaxed)
                    // The process is not reaped before this returns, so the number is still its own.
                    adopt(child.name, pid: pid)
                }
                outcome = .success(result.terminationStatus)
            } catch {
                outcome = .failure(error)
            }
            disown(child.name)
            let lines = await relay.lastLines()
            return (started.load(ordering: .relaxed), ChildExit.Status(outcome, of: executable), lines)
        } catch {
            return (0, .notStarted("\(error)", mayPass: true), [])
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
        perform { $0.started(name, pid: pid, now: .now) }
        callbacks.onStart(name, pid)
    }

    private func disown(_ name: String) {
        state.withLock { state in
            if let child = state.running.removeValue(forKey: name) { close(child.pidfd) }
        }
    }

    /// Returns when the delay is over, or when a stop makes the restart pointless.
    private func awaitRestart(of name: String, for delay: Duration) async {
        let wait = Task<Void, Never> { try? await Task.sleep(for: delay) }
        let isPointless = state.withLock { state in
            state.restartDelays[name] = wait
            return !state.fleet.mayStart(name)
        }
        if isPointless { wait.cancel() }
        await wait.value
        state.withLock { _ = $0.restartDelays.removeValue(forKey: name) }
    }

    private func watchGraces() async {
        await withDiscardingTaskGroup { group in
            for await grace in graces.stream {
                group.addTask {
                    try? await Task.sleep(for: self.options.gracePeriod)
                    if !Task.isCancelled { self.perform { $0.graceEnded(grace) } }
                }
            }
            group.cancelAll()
        }
    }

    // MARK: Actions

    /// Passes an event to the fleet and performs the actions that it returns.
    private func perform(_ event: (inout Fleet) -> [Fleet.Action]) {
        state.withLock { state in
            for action in event(&state.fleet) {
                switch action {
                case .signal(let name, let number):
                    guard let child = state.running[name] else { continue }
                    if number == SIGKILL { callbacks.beforeKill(child.pid) }
                    _ = clinux_pidfd_send_signal(child.pidfd, number)
                case .cancelRestart(let name):
                    state.restartDelays[name]?.cancel()
                case .beginGrace(let grace):
                    graces.continuation.yield(grace)
                case .allGone:
                    graces.continuation.finish()
                }
            }
        }
    }
}

extension ChildExit.Status {
    init(_ outcome: Result<TerminationStatus, any Error>, of executable: String) {
        switch outcome {
        case .success(.exited(let code)): self = .exited(code)
        case .success(.signaled(let number)): self = .signaled(number)
        case .failure(let error): self = .notStarted("\(error)", mayPass: access(executable, X_OK) == 0)
        }
    }
}
