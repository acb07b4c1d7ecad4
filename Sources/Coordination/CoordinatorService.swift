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

/// Renews the coordinator's role, and binds its sockets anew where their files were removed. Confined to the loop.
final class RoleUpkeep {
    private let environment: CoordinatorEnvironment
    private let sockets: SocketBinder
    /// The last error that was logged.
    private var logged = ""

    private var logger: Logger { environment.logger }

    init(_ environment: CoordinatorEnvironment, sockets: SocketBinder) {
        self.environment = environment
        self.sockets = sockets
    }

    /// Call it four times a second.
    func run() {
        do throws(StoreError) {
            if try environment.role.renew() {
                logger.warning("The lock file of the coordinator was removed or replaced; it was made anew.")
            }
        } catch {
            guard error.code != .missing else { return environment.loss.set(error) }
            log("The lock file of the coordinator cannot be made anew: \(error.message)")
        }
        do throws(ZeroMQError) {
            let names = try sockets.bindMissing()
            guard !names.isEmpty else { return }
            logger.warning(
                "Sockets were removed or replaced; they were bound anew.",
                metadata: ["sockets": "\(names.joined(separator: ", "))"])
        } catch {
            log("A socket that was removed cannot be bound anew: \(error)")
        }
    }

    private func log(_ sentence: String) {
        guard sentence != logged else { return }
        logged = sentence
        logger.error("\(sentence)")
    }
}

/// The state that a starting coordinator finds in the store.
struct RecoveredState: Sendable {
    /// Of each shard, the newest transition.
    let newest: [Int64]
    private(set) var links: [String: String] = [:]
    private(set) var overrides: [String: String] = [:]
    private(set) var pauses: [String: String] = [:]
    private(set) var limits: [String: String] = [:]
    /// Of rate limits.
    private(set) var tokens: [String: String] = [:]
    /// Of workers that run, or died while no coordinator did.
    private(set) var sessions: [Session] = []
    /// In force at the start; nil where the clock of the store fits its contents.
    private(set) var clockHold: ClockHold?
    /// While commands waited.
    private(set) var clockJumps = ClockJumps()
    /// Why there are no settings: the first shard, which has them, is damaged. The work of the other shards
    /// goes on.
    private(set) var loss: StoreError?

    init(from store: any CommandStore) throws(StoreError) {
        let seqs = try store.lastTransitions().map { $0 ?? 0 }
        newest = seqs
        let times: [Timestamp?] = try store.mapShards(or: nil) { (shard: Int) throws(StoreError) -> Timestamp? in
            let events = try store.events(shard: shard, after: seqs[shard] - 1, limit: 1).events
            return events.last?.transition.at
        }
        clockHold = ClockHold(atStart: times.compactMap(\.self).max(), wall: store.clock.now(), now: .now)
        do throws(StoreError) {
            if clockHold == nil { clockHold = try store.clockHold() }
            clockJumps = ClockJumps(setting: try store.setting(SettingKey.clockJumps))
            links = try store.settings(prefix: SettingKey.linkPrefix)
            overrides = try store.settings(prefix: SettingKey.networkPrefix)
            pauses = try store.settings(prefix: SettingKey.pausePrefix)
            limits = try store.settings(prefix: SettingKey.limitPrefix)
            tokens = try store.settings(prefix: SettingKey.tokensPrefix)
            sessions = try store.sessions()
        } catch {
            guard error.code.makesShardUnusable else { throw error }
            loss = error
        }
    }
}
