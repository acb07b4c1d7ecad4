internal import ArgumentParser
internal import Coordination
internal import Dispatch
internal import Logging
internal import Operations
internal import Store

struct CoordinatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coordinator",
        abstract: "Run the coordinator of a data directory.",
        discussion: """
            There is one for each data directory; a second says who holds it and exits with 75. Without it, submitted \
            commands are kept and nothing new begins.

            EXAMPLES
              sluice coordinator
              sluice coordinator --data /var/lib/sluice --log-level debug
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions

    @Option(
        name: .long, help: ArgumentHelp("A descriptor whose end means that the parent is gone.", visibility: .private))
    var parentDescriptor: Int32?

    func run() async throws {
        try Services.requireDescriptors()
        let logger = log.logger("coordinator")
        var configuration = CoordinatorConfiguration()
        configuration.network = try await ConfigurationFile(data, data.directory()).network
        let (directory, store) = try data.store(create: true)
        let spool = Spool(directory: directory.spool)
        configuration.abandoned = { spool.discard(stored: $0) }
        // Large files take their time.
        DispatchQueue.global().async {
            do throws(StoreError) {
                try SpoolStage.sweep(spool)
            } catch {
                logger.warning("The spool was not swept: \(error.message)")
            }
        }
        let service = CoordinatorService(
            directory: directory, store: store, configuration: configuration, logger: logger,
            whenReady: { Notify.ready() })
        if let parentDescriptor { Services.endWithParent(parentDescriptor) }
        try await Services.run(service, logger: logger)
    }
}
