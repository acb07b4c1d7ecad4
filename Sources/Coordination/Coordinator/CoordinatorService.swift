internal import Commands
internal import Host
package import Logging
internal import ServiceLifecycle
package import Store
internal import ZeroMQ

/// Hands command UUIDs to workers, tells monitors what happens, and cleans up after the dead.
package final class CoordinatorService: Service {
    private let directory: DataDirectory
    private let store: any CommandStore
    private let configuration: CoordinatorConfiguration
    private let logger: Logger
    private let whenReady: @Sendable () -> Void

    /// - Parameters:
    ///   - store: with a connection of its own to every shard.
    ///   - whenReady: called once, when the sockets are bound.
    package init(
        directory: DataDirectory, store: any CommandStore, configuration: CoordinatorConfiguration = .init(),
        logger: Logger, whenReady: @escaping @Sendable () -> Void = {}
    ) {
        self.directory = directory
        self.store = store
        self.configuration = configuration
        self.logger = logger
        self.whenReady = whenReady
    }

    /// - Throws: ``StoreError`` `.busy` where another coordinator has the data directory.
    package func run() async throws {
        let lock = try CoordinatorLock.take(in: directory.run)
        let checkpointLock = CheckpointLock(directory.run)
        try checkpointLock.obtain()
        let incarnation = try CoordinatorEpoch.next(in: directory.run, now: .now)
        let recovered = try await onThread("recover") { [store] () throws(StoreError) in try Recovered(from: store) }
        let loop = try PollLoop(name: "coordinator")
        defer { loop.stop() }
        let coordinator = try await loop.run { [store, directory, configuration, logger] in
            Result {
                try Coordinator(
                    loop: loop, store: store, runDirectory: directory.run, incarnation: incarnation,
                    newest: recovered.newest, configuration: configuration, logger: logger)
            }
        }.get()
        await coordinator.start(
            links: recovered.links, overrides: recovered.overrides, pauses: Pauses.parse(recovered.pauses),
            loss: recovered.loss)
        logger.info("Coordinator ready.", metadata: ["shards": "\(store.shardCount)"])
        whenReady()

        let maintainer = coordinator.maintainer
        await cancelWhenGracefulShutdown {
            // Checkpoints and pruning, on the keeper's own thread.
            while !Task.isCancelled {
                // It fails where descriptors run out, and is tried again.
                try? checkpointLock.obtain()
                maintainer.round()
                try? await Task.sleep(for: .seconds(1))
            }
        }
        await coordinator.stop()
        withExtendedLifetime(checkpointLock) {}
        withExtendedLifetime(lock) {}
    }
}

/// What a coordinator finds of the last one's state.
private struct Recovered: Sendable {
    var newest: [Int64]
    var links: [String: String] = [:]
    var overrides: [String: String] = [:]
    var pauses: [String: String] = [:]
    /// Why there are no settings: shard 0, which keeps them, is of no use. The work of the others goes on.
    var loss: StoreError?

    init(from store: any CommandStore) throws(StoreError) {
        newest = try store.mapShards(or: 0) { shard throws(StoreError) in
            try store.transitionRange(shard: shard)?.upperBound ?? 0
        }
        do throws(StoreError) {
            links = try store.settings(prefix: SettingKey.linkPrefix)
            overrides = try store.settings(prefix: SettingKey.networkPrefix)
            pauses = try store.settings(prefix: SettingKey.pausePrefix)
        } catch {
            guard error.code.makesShardUnusable else { throw error }
            loss = error
        }
    }
}
