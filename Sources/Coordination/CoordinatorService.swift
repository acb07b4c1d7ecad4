internal import Commands
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
        let lock = try CoordinatorLock("\(directory.run)/coordinator.lock")
        let checkpointLock = try SeatLock.obtain("\(directory.run)/checkpoint.lock")
        let recovered = try await onThread("recover") { [store] () throws(StoreError) in try Recovered(from: store) }
        let loop = try PollLoop(name: "coordinator")
        defer { loop.stop() }
        let coordinator = try await loop.run { [store, directory, configuration, logger] in
            Result {
                try Coordinator(
                    loop: loop, store: store, runDirectory: directory.run, incarnation: recovered.incarnation,
                    newest: recovered.newest, configuration: configuration, logger: logger)
            }
        }.get()
        await coordinator.start(
            links: recovered.links, overrides: recovered.overrides, pauses: Pauses.parse(recovered.pauses))
        logger.info("Coordinator ready.", metadata: ["shards": "\(store.shardCount)"])
        whenReady()

        let keeper = coordinator.keeper
        await cancelWhenGracefulShutdown {
            // Checkpoints and pruning, on the keeper's own thread.
            while !Task.isCancelled {
                keeper.round()
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
    var incarnation: Int64
    var newest: [Int64]
    var links: [String: String]
    var overrides: [String: String]
    var pauses: [String: String]

    private static let incarnationKey = "coordinator.incarnation"

    init(from store: any CommandStore) throws(StoreError) {
        // Grows with time, also where the clock was set back: workers obey the newest.
        let last = try store.settings(prefix: Self.incarnationKey)[Self.incarnationKey].flatMap { Int64($0) } ?? 0
        incarnation = max(Timestamp.now.milliseconds, last + 1)
        try store.set(Self.incarnationKey, to: "\(incarnation)")
        newest = try store.ofEachShard(or: 0) { shard throws(StoreError) in
            try store.transitionRange(shard: shard)?.upperBound ?? 0
        }
        links = try store.settings(prefix: LinkReport.settingPrefix)
        overrides = try store.settings(prefix: LinkOverrideSetting.prefix)
        pauses = try store.settings(prefix: Pauses.prefix)
    }
}
