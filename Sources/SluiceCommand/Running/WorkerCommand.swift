internal import ArgumentParser
internal import BuiltIn
internal import Commands
internal import DoorMetrics
internal import Exec
internal import HTTPClient
internal import Host
internal import Logging
internal import Operations
internal import Queue
internal import Store
internal import Sync
internal import Telemetry
internal import Transfers
internal import Webhook
internal import Wire
internal import Work

struct WorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Run one worker.",
        discussion: """
            It takes the lowest free seat and executes the commands that the coordinator offers. You can start any number, \
            at any time. SIGTERM or Ctrl-C drains it: commands of low quality of service are released at once, the others \
            may run on for --grace. A program then gets TERM, and KILL after its own grace, at most 10 s later.

            EXAMPLES
              sluice worker
              sluice worker --concurrency 64 --grace 1m
              sluice worker --types exec
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions

    @Option(
        name: .long,
        help: ArgumentHelp("Operations at once; high quality of service has as many slots again.", valueName: "count"))
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
            "The types of commands that it runs, as in upload,exec. (default: all that sluice.yaml enables)",
            valueName: "types"),
        completion: .list(CommandType.builtIn.sorted()))
    var types: String?

    @Option(
        name: .long, help: ArgumentHelp("A pipe that closes when the parent has ended.", visibility: .private))
    var parentDescriptor: Int32?

    func validate() throws {
        guard (1...1024).contains(concurrency) else { throw ValidationError("--concurrency must be from 1 to 1024.") }
        if let chosenTypes {
            let known = CommandType.builtIn
            if let other = chosenTypes.subtracting(known).sorted().first {
                throw ValidationError("--types has '\(other)'; there are \(known.sorted().joined(separator: ", ")).")
            }
            if chosenTypes.isEmpty { throw ValidationError("--types must not be empty.") }
        }
        if let parentDescriptor, parentDescriptor < 0 {
            throw ValidationError("--parent-descriptor must be a descriptor.")
        }
    }

    private var chosenTypes: Set<String>? { types.map { Set($0.split(separator: ",").map(String.init)) } }

    func run() async throws {
        let logger = log.logger("worker")
        var telemetry = Telemetry.bootstrap(logger: logger)
        let directory = data.directory()
        var operations = try ConfigurationFile(data, directory).uploads()
        if let proxies = operations.http.client.proxies.summary {
            logger.info("Requests go through a proxy", metadata: ["proxy": "\(proxies)"])
        }
        let queue = try data.queue(create: true)
        let store = queue.store
        var configuration = WorkerConfiguration()
        configuration.concurrency = concurrency
        configuration.beat = { Notify.alive() }
        telemetry.more = { ServerFigures.families(of: queue.serverCounts) }
        configuration.reports = { [telemetry] in telemetry.reports }
        configuration.grace = grace.duration
        configuration.parentDescriptor = parentDescriptor
        operations.cache = directory.cache
        operations.collections = CollectionDirectory(
            data: directory.path, at: operations.collectionsDirectory)
        operations.webhookStates = WebhookEndpointStates(StoredSettings(store))
        operations.exec.directories = Self.execDirectories(directory)
        let registry = try registry(operations)
        let service = WorkerService(
            queue.opened, registry: registry, configuration: configuration, logger: logger,
            onPhase: { [concurrency, isLimited = types != nil] seat, phase in
                if phase == .ready { Notify.ready() }
                WorkerInfo.store(
                    seat: seat, phase: phase, concurrency: concurrency, types: registry.types, isLimited: isLimited,
                    in: store)
            })
        try await Services.run(service, logger: logger)
    }

    private func registry(_ operations: OperationsConfiguration) throws -> OperationRegistry {
        let registry = BuiltInOperations.registry(operations)
        guard let chosenTypes else { return registry }
        if chosenTypes.contains(CommandType.exec), !operations.exec.isEnabled {
            throw ExitError(
                .configuration, "--types has exec, and programs are off; set “exec.enabled: true” in sluice.yaml")
        }
        // The remains of these types need no worker of their own.
        let leavesRemains = !chosenTypes.isDisjoint(with: CommandType.leavingRemains)
        return registry.limited(to: leavesRemains ? chosenTypes.union([CommandType.cleanup]) : chosenTypes)
    }

    /// Absolute paths: a program has another working directory.
    private static func execDirectories(_ directory: DataDirectory) -> ExecDirectories {
        let directory = directory.resolved
        let run = directory.run
        return ExecDirectories(temporary: directory.exec) { run.execLock($0) }
    }
}
