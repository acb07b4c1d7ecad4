internal import ArgumentParser
internal import Commands
internal import Coordination
internal import Dispatch
internal import DoorMetrics
internal import FileOps
internal import Host
internal import Logging
internal import Queue
internal import Store
internal import Telemetry

struct CoordinatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coordinator",
        abstract: "Run the coordinator of a data directory.",
        discussion: """
            A data directory has one coordinator; a second one names the process of the first and exits with 75. Without \
            a coordinator, submitted commands are stored and none is started. It applies the schedules of sluice.yaml (see \
            “sluice schedule --help”).

            EXAMPLES
              sluice coordinator
              sluice coordinator --data /var/lib/sluice --log-level debug
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions

    @Option(
        name: .long, help: ArgumentHelp("A pipe that closes when the parent has ended.", visibility: .private))
    var parentDescriptor: Int32?

    func run() async throws {
        let logger = log.logger("coordinator")
        var telemetry = Telemetry.bootstrap(logger: logger)
        var configuration = CoordinatorConfiguration()
        configuration.beat = { Notify.alive() }
        let file = try ConfigurationFile(data, data.directory())
        configuration.network = file.network
        try await ConfiguredSchedules.configured(data)?.refuseWrong()
        let queue = try data.queue(create: true)
        telemetry.more = { ServerFigures.families(of: queue.serverCounts) }
        configuration.reports = { [telemetry] in telemetry.reports }
        let directory = queue.directory
        if let warning = try directory.fileSystem()?.warning(directory.path) { logger.warning("\(warning)") }
        let check = InboxCheck(queue, registry: SubmitRegistry.registry(for: file))
        configuration.inbox = { entries throws(StoreError) in try check.verdicts(on: entries) }
        let spool = Spool(directory: directory.spool)
        configuration.abandoned = { spool.discard(stored: $0) }
        configuration.cleanup = { CleanupDraft.after($0.command, payload: $0.payload, checkpoint: $0.checkpoint) }
        // On another thread: deleting large files takes time.
        DispatchQueue.global().async {
            do { try SpooledCopies.sweep(directory.spool) } catch {
                logger.warning("The spool was not swept: \(SluiceError(error).message)")
            }
        }
        let schedules = ScheduleApplication(data: data, queue: queue, logger: logger)
        let service = CoordinatorService(queue.opened, configuration: configuration, logger: logger) {
            Notify.ready()
            Task { await schedules.run() }
        }
        if let parentDescriptor { Services.endWithParent(parentDescriptor) }
        try await Services.run(service, logger: logger)
    }
}

/// Applies the schedules of `sluice.yaml` while the coordinator runs. A problem with them is logged, and stops no command.
struct ScheduleApplication {
    let data: DataOptions
    let queue: QueueAccess
    let logger: Logger

    private static let firstPause: Duration = .seconds(1)
    private static let maxPause: Duration = .seconds(60)

    /// Tries again until all are applied: a worker may make a type known, a zone may be installed, and the store of an
    /// earlier release is migrated first. An edit of the file counts from the next start on.
    func run() async {
        var told: Set<String> = []
        func tell(_ error: any Error) {
            let message = ExitError(error).message ?? "\(error)"
            guard told.insert(message).inserted else { return }
            let passes = SluiceError(error).code == .tryAgain
            logger.log(
                level: passes ? .info : .error,
                "The schedules of sluice.yaml are not applied: \(message). Those in the store go on.")
        }
        let schedules: ConfiguredSchedules
        do {
            guard let read = try ConfiguredSchedules(data) else { return }
            schedules = read
        } catch {
            return tell(error)
        }
        var pause = Self.firstPause
        while !Task.isCancelled {
            do {
                for change in try await schedules.apply(to: queue) { logger.notice("\(change)") }
                return
            } catch {
                tell(error)
            }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.maxPause)
        }
    }
}
