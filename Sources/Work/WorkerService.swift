package import Logging
package import ServiceLifecycle
package import Store

/// Claims what the coordinator offers, executes it, and reports.
package final class WorkerService: Service {
    private let directory: DataDirectory
    private let registry: OperationRegistry
    private let configuration: WorkerConfiguration
    private let logger: Logger

    package init(
        directory: DataDirectory, registry: OperationRegistry, configuration: WorkerConfiguration = .init(),
        logger: Logger
    ) {
        self.directory = directory
        self.registry = registry
        self.configuration = configuration
        self.logger = logger
    }

    /// Ends after a drain, when asked for a graceful shutdown.
    package func run() async throws {}
}
