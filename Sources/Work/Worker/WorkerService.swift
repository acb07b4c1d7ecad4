package import Commands
internal import Host
package import Logging
package import Membership
package import Operations
internal import ServiceLifecycle
package import Store
package import Wire
internal import ZeroMQ

/// A worker: claims the commands that the coordinator offers, executes them, and reports.
///
/// Takes a seat and sends hello until it is registered. Ends after a drain: when asked for a graceful
/// shutdown, when the parent's pipe closes, or when its task is cancelled.
package final class WorkerService: Service {
    private let opened: OpenedStore
    private let registry: OperationRegistry
    private let configuration: WorkerConfiguration
    private let logger: Logger
    private let onPhase: @Sendable (_ seat: Int, WorkerState.Phase) -> Void

    /// - Parameters:
    ///   - opened: with a connection of its own to every shard.
    ///   - onPhase: called when the worker is ready, and when it begins to drain.
    package init(
        _ opened: OpenedStore, registry: OperationRegistry, configuration: WorkerConfiguration = .init(),
        logger: Logger,
        onPhase: @escaping @Sendable (_ seat: Int, WorkerState.Phase) -> Void = { _, _ in }
    ) {
        self.opened = opened
        self.registry = registry
        self.configuration = configuration
        self.logger = logger
        self.onPhase = onPhase
    }

    /// - Throws: ``StoreError`` `.missing` where the files that prove that this worker lives were removed, `.moved` where
    ///   the store belongs to another data directory now.
    package func run() async throws {
        let store = opened.store
        let seat = try opened.presence.takeSeat()
        let session = seat.session
        let sessions = try await BlockingPool.shared.run { () throws(StoreError) in
            try ShardSessions(session, in: store)
        }
        let loop = try PollLoop(name: "sluice-worker")
        defer { loop.stop() }
        let loss = PresenceLoss()
        let (stops, stop) = AsyncStream<Void>.makeStream()
        let upkeep = SeatUpkeep(seat: seat, loss: loss, logger: logger, stop: { stop.finish() })
        let link = try await loop.run { [opened, configuration, logger] in
            Result {
                try WorkerLink(
                    loop: loop, endpoints: opened.endpoints, session: session,
                    configuration: configuration, seat: upkeep, logger: logger)
            }
        }.get()

        let commitMeter = CommitMeter()
        let committers = ExecutionCommitters(of: store)
        let intentLog = seat.openIntentLog(
            capacity: SlotScheduler.maxExecutions(concurrency: configuration.concurrency))
        if intentLog == nil {
            logger.warning(
                "The log of started executions cannot be kept; a death of this worker puts more commands in doubt.")
        }
        let executor = Executor(
            registry: registry, committers: committers, concurrency: configuration.concurrency, logger: logger,
            intentLog: intentLog, references: PayloadReferences(store: store),
            uploads: SpooledUploads(store, directory: opened.directory.resolved.uploads),
            operationExecutor: configuration.operationsMayBlock
                ? OperationExecutor(maxThreads: SlotScheduler.maxExecutions(concurrency: configuration.concurrency))
                : nil,
            wakeReporter: { loop.perform { link.assumeIsolated { $0.flush() } } },
            publish: { event in loop.perform { link.assumeIsolated { $0.publish(event) } } })
        committers.start(
            commit: { group, writes, attempt throws(StoreError) in
                try sessions.open(group)
                let start = MonotonicTime.now
                var count = 0
                let outcome = try upkeep.orLoss { () throws(StoreError) in
                    try store.apply(
                        {
                            let taken = writes()
                            count = taken.count
                            return taken
                        }, group: group, seat: session.seat, epoch: session.epoch, attempt)
                }
                commitMeter.committed(count, since: start)
                return outcome
            },
            deliver: { executor.committed($0, group: $1) })
        await link.start(executor: executor)
        logger.info(
            "Worker ready.",
            metadata: ["seat": "\(session.seat)", "concurrency": "\(configuration.concurrency)"])
        onPhase(session.seat, .ready)

        await untilAskedToStop(link, stops, stop)
        onPhase(session.seat, .draining)
        // Another worker may have the seat.
        if loss.error != nil { executor.stopAll() }
        guard await drain(executor) else {
            // The seat is held for as long as this process lives, so no other worker runs these commands beside the
            // operations that go on.
            _ = Unmanaged<AnyObject>.passRetained(seat)
            throw OperationsDidNotStop(types: await runningTypes(executor), grace: configuration.grace)
        }
        executor.close()
        await link.flush()
        await committers.close()
        await link.flush()
        try await BlockingPool.shared.run { () throws(StoreError) in
            try store.untilKnown { _ throws(StoreError) in
                try store.close(seat: session.seat, epoch: session.epoch)
            }
        }
        seat.removeIntentLog()
        logger.info("Worker drained.", metadata: ["seat": "\(session.seat)"])
        withExtendedLifetime(seat) {}
        if let error = loss.error { throw error }
    }

    private func untilAskedToStop(
        _ link: WorkerLink, _ stops: AsyncStream<Void>, _ continuation: AsyncStream<Void>.Continuation
    ) async {
        if let descriptor = configuration.parentDescriptor {
            await link.watchParent(descriptor) { [logger] in
                logger.notice("The parent is gone; draining.")
                continuation.finish()
            }
        }
        await withGracefulShutdownHandler {
            await withTaskCancellationHandler {
                for await _ in stops {}
            } onCancel: {
                continuation.finish()
            }
        } onGracefulShutdown: {
            continuation.finish()
        }
    }

    /// Releases low quality at once, and the rest after the grace.
    /// - Returns: false where an operation has ignored its cancellation for ``WorkerConfiguration/abandonTimeout``.
    private func drain(_ executor: Executor) async -> Bool {
        executor.drain()
        let (ends, end) = AsyncStream<Bool>.makeStream()
        executor.whenIdle { end.yield(true) }
        // On a thread, because operations may block all threads of the cooperative pool.
        let timer = SerialThread(named: "sluice-drain")
        timer.perform(at: .now + configuration.grace) {
            executor.stopAll()
            timer.perform(at: .now + WorkerConfiguration.abandonTimeout) { end.yield(false) }
        }
        // Detached, because a cancelled task would not wait for the stream.
        let isIdle = await Task.detached { await ends.first { _ in true } ?? true }.value
        await timer.close()
        return isIdle
    }

    private func runningTypes(_ executor: Executor) async -> [String] {
        await withCheckedContinuation { continuation in executor.runningTypes { continuation.resume(returning: $0) } }
    }
}

/// How much a worker does at once, and how it stops.
package struct WorkerConfiguration: Sendable {
    /// Operations of middle and low quality at once; high quality has as many slots again.
    package var concurrency = 16
    /// How long running operations of high and middle quality may go on when the worker drains.
    package var grace: Duration = .seconds(25)
    /// How long a worker waits in all, after the grace, before it ends without its operations: an operation that
    /// needs all of ``CommandExecution/stopTimeout`` still has its outcome committed.
    package static let abandonTimeout: Duration = CommandExecution.stopTimeout + .seconds(3)
    /// Whether operations run on threads of their own (``OperationExecutor``), because they may block.
    package var operationsMayBlock = false
    /// A descriptor that reads end-of-file when the parent is gone: then the worker drains. Nil: there is
    /// none.
    package var parentDescriptor: Int32?
    /// Called four times a second by the loop: for a watchdog.
    package var beat: @Sendable () -> Void = {}

    /// The measurements of this process, as bodies of events. Called by the loop every 5 s.
    package var reports: @Sendable () -> [String] = { [] }

    package init() {}
}

/// Runs operations on threads of their own, so that one that blocks its thread does not stop the worker, or the program
/// that the worker is a part of: the cooperative pool has as many threads as the machine has cores.
package final class OperationExecutor: TaskExecutor {
    private let pool: BlockingPool

    /// - Parameter maxThreads: the maximum number of operations that may block at once.
    package init(maxThreads: Int) { pool = BlockingPool(named: "sluice-operation", maxThreads: maxThreads) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.perform { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// Operations went on after the grace of a drain and after their cancellation.
package struct OperationsDidNotStop: Error, Sendable, CustomStringConvertible {
    package var types: [String]
    package var grace: Duration

    package var description: String {
        let names = Set(types).sorted().joined(separator: ", ")
        return "\(types.count) operations (\(names)) ignored their cancellation for "
            + "\(WorkerConfiguration.abandonTimeout.seconds) s after the grace of \(grace.seconds) s; the worker ends without "
            + "them, and their commands are released when this process has ended"
    }
}

/// The settings of a store, for operations.
package struct StoredSettings: SharedSettings {
    private let store: any CommandStore

    package init(_ store: any CommandStore) { self.store = store }

    package var now: Timestamp { store.clock.now() }

    package func value(of key: String) throws -> String? { try store.setting(key) }

    package func change(_ key: String, timeout: Duration, _ body: (String?) -> String?) throws {
        try store.update(key, timeout: timeout, body)
    }
}
