internal import ArgumentParser
internal import Commands
internal import Console
internal import Door
internal import Glibc
internal import Host
internal import Logging
internal import Membership
internal import Queue
internal import Store
internal import Supervision
internal import Synchronization
internal import Work

struct UpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Run and supervise a coordinator, workers and a door on this machine.",
        discussion: """
            Ctrl-C or SIGTERM drains: commands of low quality of service are released at once, the others may run on for \
            --grace, then everything ends; a second one stops at once. A child that dies is started again, after 0.1 s at \
            first and up to 5 s. Where the disk is full, a lock is held or another condition may pass (exit codes 73, 74 \
            and 75), it is tried every 5 s for as long as it takes. A coordinator or worker that cannot start for another \
            reason, 5 times in 10 s, ends everything, with its reason; a door never does. Add workers at any time with \
            “sluice worker”.

            SIGHUP installs a new release without a stop of the service: “up” drains its workers one after the other, \
            then the coordinator, and starts again from its path, with the same process id. Where its terminal was closed, \
            SIGHUP drains and ends it. Each start applies the schedules of sluice.yaml (see “sluice schedule --help”).

            EXAMPLES
              sluice up
              sluice up --workers 4 --concurrency 32
              sluice up --listen 127.0.0.1:7411
              sluice up --data /var/lib/sluice --log-format json
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions

    @Option(name: .long, help: ArgumentHelp("Worker processes.", valueName: "count"))
    var workers = 2

    @Option(name: .long, help: ArgumentHelp("Operations at once in each worker.", valueName: "count"))
    var concurrency = WorkerConfiguration().concurrency

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How long operations of high and middle quality of service may run on when it stops; the others stop at once.",
            valueName: "duration"))
    var grace = DurationArgument(WorkerConfiguration().grace)

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Run a door there: uploads, API, metrics and pages over HTTP; see “sluice door --help” (default: door.listen of sluice.yaml, else no door).",
            valueName: "host:port"))
    var listen: ListenAddress?

    func validate() throws {
        guard (0...Role.maxSeats).contains(workers) else {
            throw ValidationError("--workers must be from 0 to \(Role.maxSeats).")
        }
        guard (1...1024).contains(concurrency) else { throw ValidationError("--concurrency must be from 1 to 1024.") }
    }

    func run() async throws {
        let logger = log.logger("up")
        // Checked before the children start, so that one process reports a fault, not every child.
        let file = try ConfigurationFile(data, data.directory())
        _ = try file.uploads()
        _ = try ConfiguredRoutes.read(data)
        try await ConfiguredSchedules.configured(data)?.refuseWrong()
        let address = listen ?? file.door.listen
        if let store = data.store { setenv(ConfiguredStore.variable, store, 1) }
        // Made before the children start, so that they do not race for it.
        let queue = try data.queue(create: true)
        let (store, presence) = (queue.store, queue.presence)
        if let holder = presence.remainingHolder(of: .coordinator) {
            let pid = holder.pid.map { ", process \($0)" } ?? ""
            throw ExitError(
                .tryAgain, "a coordinator\(pid) runs on \(data.place) already: add workers with “sluice worker”")
        }
        Notify.keep()
        let watchdog = try Watchdog(queue.endpoints)
        var options = Supervisor.Options()
        options.gracePeriod = grace.duration + WorkerConfiguration.abandonTimeout + .seconds(5)
        // The URL of an earlier door must not be taken for that of this one. The door itself sets it to nil too, but later.
        if presence.holder(of: .door) == nil { _ = try? store.set(SettingKey.doorURL, to: nil) }
        let isReady: @Sendable (String, Int32) -> Bool = { name, pid in
            switch name {
            case StartupReport.coordinator: watchdog.hasHeardCoordinator
            case StartupReport.door:
                presence.holder(of: .door)?.pid == pid && (try? store.setting(SettingKey.doorURL)) ?? nil != nil
            default: WorkerInfo.isReady(pid, in: store)
            }
        }
        let children = children(address)
        let startup = Mutex(StartupReport(children: children.map(\.name)))
        var callbacks = Supervisor.Callbacks()
        callbacks.wasReady = isReady
        callbacks.beforeKill = { presence.noteIntentionalKill(of: $0) }
        callbacks.onExit = { exit in
            startup.withLock { $0.failed(exit.name) }
            if exit.name == StartupReport.coordinator { watchdog.reset() }
        }
        let supervisor = Supervisor(
            executable: Executable.path, children: children, options: options, callbacks: callbacks, logger: logger)
        let reload = Reload(logger: logger) {
            watchdog.stop()
            supervisor.stopInTurn()
        }
        SignalHandling.count([SIGINT, SIGTERM]) { count in
            reload.cancel()
            startup.withLock { $0.cancel() }
            stop(supervisor, watchdog, isFirst: count == 1)
        }
        if !SignalHandling.isIgnored(SIGHUP) {
            let terminal = ControllingTerminal()
            SignalHandling.handle(SIGHUP) {
                if terminal.hasHungUp { stop(supervisor, watchdog, isFirst: true) } else { reload.begin() }
            }
        }
        watchdog.start(logger: logger) {
            supervisor.status[StartupReport.coordinator]?.pid.map { ControlGroups(of: $0).isFrozen } ?? false
        } onReady: {
            startThread(named: "sluice-startup") {
                guard let report = Self.awaitStart(supervisor, startup, isReady) else { return }
                welcome(report, queue, address, file.door)
                if report.isRunning(StartupReport.door) { Self.showLogin(queue) }
                Notify.ready()
            }
        } onSilence: {
            supervisor.kill(StartupReport.coordinator)
        }
        defer { watchdog.stop() }
        do {
            try await supervisor.run()
        } catch let error as SupervisionError {
            throw ExitError(Self.code(of: error), "\(error)")
        }
        if reload.isDue { throw ExitError(.internalError, Executable.replaceProcess()) }
    }

    private func stop(_ supervisor: Supervisor, _ watchdog: Watchdog, isFirst: Bool) {
        Diagnostics.say(
            isFirst
                ? "draining: running commands get \(grace.duration.shortText), low quality is released; again to stop at once"
                : "stopping at once")
        Notify.stopping()
        watchdog.stop()
        supervisor.stop()
    }

    /// Waits until each child runs or has failed, but not longer than a service manager would expect.
    /// - Returns: nil where a stop has begun.
    private static func awaitStart(
        _ supervisor: Supervisor, _ startup: borrowing Mutex<StartupReport>, _ isReady: (String, Int32) -> Bool
    ) -> StartupReport? {
        let end = MonotonicTime.now + .seconds(10)
        while true {
            for (name, status) in supervisor.status {
                guard let pid = status.pid, !startup.withLock({ $0.isRunning(name) }), isReady(name, pid) else {
                    continue
                }
                startup.withLock { $0.runs(name) }
            }
            let report = startup.withLock { $0 }
            if report.isCancelled { return nil }
            if report.isSettled || MonotonicTime.now >= end { return report }
            usleep(20_000)
        }
    }

    /// - Parameter address: of the door; nil for none.
    private func children(_ address: ListenAddress?) -> [ChildSpecification] {
        // The standard input of a child is a pipe that closes with this process.
        let common =
            ["--data", data.path, "--parent-descriptor", "0"] + logArguments
            + (data.config.map { ["--config", $0] } ?? [])
        let grace = "\(grace.duration.milliseconds)ms"
        let worker = ["worker", "--concurrency", "\(concurrency)", "--grace", grace] + common
        return [ChildSpecification(name: StartupReport.coordinator, arguments: ["coordinator"] + common, stage: .last)]
            + (0..<workers).map { ChildSpecification(name: "worker-\($0 + 1)", arguments: worker, stage: .first) }
            + (address.map { address in
                let arguments = ["door", "--listen", address.description] + common
                var door = ChildSpecification(name: StartupReport.door, arguments: arguments, stage: .first)
                // Without its door the queue still runs.
                door.isEssential = false
                return [door]
            } ?? [])
    }

    /// The children write to a pipe, so that they cannot see the terminal themselves.
    private var logArguments: [String] {
        var log = log
        if log.logFormat == nil { log.logFormat = Diagnostics.isTerminal ? .text : .json }
        return log.arguments
    }

    private func welcome(
        _ report: StartupReport, _ queue: QueueAccess, _ address: ListenAddress?, _ door: DoorConfiguration
    ) {
        let url =
            address.map { address in
                report.isRunning(StartupReport.door)
                    ? "\n  door     \(door.url(at: address)), token in \(queue.directory.doorToken)"
                    : "\n  door     not at \(door.url(at: address)) yet: it cannot start, and is tried again every 5 s"
            } ?? ""
        let option = data.data.map { " --data \($0)" } ?? ""
        let events = queue.endpoints.address(of: .events) ?? "see “sluice status\(option)”"
        Diagnostics.write(
            """
            sluice runs in \(data.place): a coordinator and \(report.workers(concurrency: concurrency)).
              upload   sluice put FILE --to URL\(option)
              watch    sluice watch\(option)
              status   sluice status\(option)
              events   \(events)\(url)
            Ctrl-C drains and stops; a second one stops at once.

            """)
    }

    /// Prints a login link when the door listens. Only for a person at the terminal: a log is kept longer than a credential
    /// should be.
    private static func showLogin(_ queue: QueueAccess) {
        guard Diagnostics.isTerminal else { return }
        startThread(named: "sluice-login") {
            let end = MonotonicTime.now + .seconds(30)
            while MonotonicTime.now < end {
                if let url = try? DoorLogin.link(queue) {
                    Diagnostics.write("  open     \(url)  (once, within 10 minutes)\n")
                    return
                }
                usleep(200_000)
            }
            Diagnostics.say("the door does not answer yet; “sluice login” prints a link when it does")
        }
    }

    private static func code(of error: SupervisionError) -> ExitCode {
        switch error {
        case .tooManyDeaths(let exit, _, _):
            // `up` ends with the exit code of the child that ended it.
            if case .exited(let code) = exit.status, let known = ExitCode(rawValue: code), known != .done {
                return known
            }
            return .internalError
        case .system, .doesNotRun: return .internalError
        }
    }
}

/// The state of each child of `up` at its start: the welcome and the notification of systemd come when each one runs or
/// has failed, so that they name only what runs. Pure.
struct StartupReport: Equatable {
    enum Child: Equatable {
        case starting, running, failed
    }

    static let coordinator = "coordinator"
    static let door = "door"

    private(set) var children: [String: Child]
    /// A stop has begun: there is nothing to report.
    private(set) var isCancelled = false

    init(children: [String]) {
        self.children = Dictionary(uniqueKeysWithValues: children.map { ($0, .starting) })
    }

    /// The coordinator runs, and each other child runs or has failed once.
    var isSettled: Bool { isRunning(Self.coordinator) && children.values.allSatisfy { $0 != .starting } }

    func isRunning(_ name: String) -> Bool { children[name] == .running }

    mutating func runs(_ name: String) { children[name] = .running }

    /// A failure after the child ran says nothing about the start.
    mutating func failed(_ name: String) {
        if children[name] != .running { children[name] = .failed }
    }

    mutating func cancel() { isCancelled = true }

    /// The workers that run, as in “2 workers of 16 operations each”, and those that do not.
    func workers(concurrency: Int) -> String {
        let workers = children.filter { $0.key != Self.coordinator && $0.key != Self.door }
        let running = workers.values.count { $0 == .running }
        let missing = workers.count - running
        return "\(running) worker\(running == 1 ? "" : "s") of \(concurrency) operations each"
            + (missing == 0 ? "" : "; \(missing) more cannot start yet")
    }
}
