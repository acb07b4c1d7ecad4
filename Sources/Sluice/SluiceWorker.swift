internal import CLinux
internal import Host
public import Logging
internal import Membership
public import ServiceLifecycle
internal import Store
internal import UnixSignals
internal import Work

/// A worker with operations of your own. It joins the workers of a data directory, and is offered the
/// commands of its types. When it dies, its commands are offered to the next worker of these types.
///
/// It is a `Service` of swift-service-lifecycle: put it into your `ServiceGroup`, which handles the signals. A program
/// that only works can call ``runUntilSignal()``.
public struct SluiceWorker: Service {
    private let service: WorkerService
    private let queue: QueueAccess
    private let registry: OperationRegistry
    private let logger: Logger

    /// Opens the data directory, which a coordinator or a submit must have made before.
    ///
    /// From then on the whole process ignores SIGPIPE and SIGXFSZ, so that a closed pipe and a file size
    /// limit are errors of a write. Standard input, output and error become /dev/null where they were closed.
    ///
    /// - Parameters:
    ///   - path: the data directory. A relative path starts at the working directory.
    ///   - store: the URL of a store on a PostgreSQL server; nil, the default: the store is in the directory.
    ///   - operations: one for each type that the worker executes. It executes no other type, not even
    ///     `upload` and `noop`.
    ///   - concurrency: the maximum number of operations of middle and low quality of service, 1 to 1024;
    ///     high quality of service has as many slots again. The default is 16.
    ///   - grace: how long operations of middle and high quality of service may run on when the worker stops;
    ///     those of low quality of service stop at once. The default is 25 s.
    ///   - logger: the logger of the worker. The default has the label `sluice.worker`.
    /// - Precondition: no two operations have the same type, and every type has the form `[a-z0-9.-]+`, at
    ///   most 64 characters.
    /// - Throws: ``SluiceError``: `invalid` for a concurrency out of bounds, and for a URL in place of the path;
    ///   `noStore` where there is no store yet, `notPermitted` where the directory belongs to another user or is
    ///   open to others, `tryAgain` where another process has been making the store for 10 s.
    public init(
        data path: String, store: String? = nil, operations: [any CommandOperation], concurrency: Int = 16,
        grace: Duration = .seconds(25),
        logger: Logger = Logger(label: "sluice.worker")
    ) throws(SluiceError) {
        clinux_prepare_process()
        guard (1...1024).contains(concurrency) else {
            throw SluiceError(.invalid, "concurrency is \(concurrency) and must be from 1 to 1024")
        }
        var configuration = WorkerConfiguration()
        configuration.concurrency = concurrency
        configuration.grace = grace
        configuration.operationsMayBlock = true
        do throws(StoreError) {
            let opened = try Stores.open(StoreLocation(path, store: store), create: store != nil)
            let registry = OperationRegistry(operations)
            queue = QueueAccess(opened)
            self.registry = registry
            service = WorkerService(
                opened, registry: registry, configuration: configuration, logger: logger,
                onPhase: {
                    WorkerInfo.store(
                        seat: $0, phase: $1, concurrency: concurrency, types: registry.types, isLimited: true,
                        in: opened.store)
                })
        } catch {
            throw SluiceError(error)
        }
        self.logger = logger
    }

    /// Executes commands until the graceful shutdown of its service group, or until its task is cancelled. Then it
    /// drains and returns.
    ///
    /// A drain releases commands of low quality of service at once, and lets the others run on for the grace.
    /// - Throws: an error whose description is a sentence, where none of the 256 seats is free, or where the
    ///   store or the sockets cannot be used. It is not a ``SluiceError``.
    public func run() async throws {
        await storeRules()
        try await service.run()
    }

    /// As ``run()``, until SIGTERM or SIGINT, which it handles for the whole process.
    public func runUntilSignal() async throws {
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: self)], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await group.run()
    }

    /// Tells producers how to read the payloads of its types.
    private func storeRules() async {
        let own = registry.operationRules.filter { !CommandType.builtIn.contains($0.key) }
        do {
            try await BlockingPool.shared.run { [queue] () throws(StoreError) in try queue.setRules(own) }
        } catch {
            logger.warning("Producers do not learn how to read the payloads of this worker's types: \(error)")
        }
    }
}
