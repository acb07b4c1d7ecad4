internal import Commands
internal import Host
package import Logging
package import Membership
internal import ServiceLifecycle
internal import Store
internal import ZeroMQ

/// Hands command UUIDs to workers, tells monitors what happens, and releases the commands of dead workers.
package final class CoordinatorService: Service {
    private let opened: OpenedStore
    private let configuration: CoordinatorConfiguration
    private let logger: Logger
    private let whenReady: @Sendable () -> Void

    /// - Parameters:
    ///   - opened: with a connection of its own to every shard.
    ///   - whenReady: called once, when the sockets are bound.
    package init(
        _ opened: OpenedStore, configuration: CoordinatorConfiguration = .init(), logger: Logger,
        whenReady: @escaping @Sendable () -> Void = {}
    ) {
        self.opened = opened
        self.configuration = configuration
        self.logger = logger
        self.whenReady = whenReady
    }

    /// Runs until the graceful shutdown.
    /// - Throws: ``StoreError`` `.busy` where another coordinator has the data directory; `.missing` where the files
    ///   that prove that this one runs were removed.
    package func run() async throws {
        let role = try opened.presence.takeCoordination(now: .now)
        let recovered = try await BlockingPool.shared.run { [opened] () throws(StoreError) in
            try RecoveredState(from: opened.store)
        }
        let loss = PresenceLoss()
        let loop = try PollLoop(name: "coordinator")
        defer { loop.stop() }
        let coordinator = try await loop.run { [opened, configuration, logger] in
            Result {
                try Coordinator(
                    CoordinatorEnvironment(
                        loop: loop, opened: opened, configuration: configuration, role: role, logger: logger,
                        loss: loss),
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
        logger.info("Coordinator ready.", metadata: ["shards": "\(opened.store.shardCount)"])
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
