internal import Commands
package import Host
package import Logging
internal import Membership
internal import ServiceLifecycle
package import Store
internal import ZeroMQ

/// Hands command UUIDs to workers, tells monitors what happens, and releases the commands of dead workers.
package final class CoordinatorService: Service {
    private let directory: DataDirectory
    private let store: any CommandStore
    private let files: (any StoreMaintenance)?
    private let configuration: CoordinatorConfiguration
    private let logger: Logger
    private let whenReady: @Sendable () -> Void

    /// - Parameters:
    ///   - store: with a connection of its own to every shard.
    ///   - files: of the store; nil where it has none.
    ///   - whenReady: called once, when the sockets are bound.
    package init(
        directory: DataDirectory, store: any CommandStore, files: (any StoreMaintenance)?,
        configuration: CoordinatorConfiguration = .init(),
        logger: Logger, whenReady: @escaping @Sendable () -> Void = {}
    ) {
        self.directory = directory
        self.store = store
        self.files = files
        self.configuration = configuration
        self.logger = logger
        self.whenReady = whenReady
    }

    /// Runs until the graceful shutdown.
    /// - Throws: ``StoreError`` `.busy` where another coordinator has the data directory; `.missing` where the files
    ///   that prove that this one runs were removed.
    package func run() async throws {
        let role = try directory.presence.takeCoordination(now: .now)
        let recovered = try await BlockingPool.shared.run { [store] () throws(StoreError) in
            try RecoveredState(from: store)
        }
        let loss = PresenceLoss()
        let loop = try PollLoop(name: "coordinator")
        defer { loop.stop() }
        let coordinator = try await loop.run { [store, files, directory, configuration, logger] in
            Result {
                try Coordinator(
                    CoordinatorEnvironment(
                        loop: loop, store: store, files: files, configuration: configuration,
                        directory: directory, role: role, logger: logger, loss: loss),
                    newest: recovered.newest, clockHold: recovered.clockHold,
                    clockJumps: recovered.clockJumps)
            }
        }.get()
        await coordinator.start(with: recovered)
        if let hold = recovered.clockHold, case .start(let wall, let newest) = hold.cause {
            logger.warning(
                """
                The wall clock shows \(wall), and the newest change in the store is of \(newest); until the clock has been \
                steady for 5 minutes, nothing is deleted or cancelled by its age.
                """)
        }
        logger.info("Coordinator ready.", metadata: ["shards": "\(store.shardCount)"])
        whenReady()

        let maintainer = coordinator.maintainer
        await cancelWhenGracefulShutdown {
            // Checkpoints and pruning, on the maintainer's own thread.
            while !Task.isCancelled, loss.error == nil {
                maintainer.round()
                for _ in 0..<4 where !Task.isCancelled && loss.error == nil {
                    try? await Task.sleep(for: .milliseconds(250))
                }
            }
        }
        await coordinator.stop()
        withExtendedLifetime(role) {}
        if let error = loss.error { throw error }
    }
}
