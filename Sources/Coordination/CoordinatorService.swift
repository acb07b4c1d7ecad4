package import Logging
package import ServiceLifecycle
package import Store

/// Hands command UUIDs to workers, tells monitors what happens, and cleans up after the dead.
package final class CoordinatorService: Service {
    private let directory: DataDirectory
    private let configuration: CoordinatorConfiguration
    private let logger: Logger

    package init(directory: DataDirectory, configuration: CoordinatorConfiguration = .init(), logger: Logger) {
        self.directory = directory
        self.configuration = configuration
        self.logger = logger
    }

    package func run() async throws {}
}
