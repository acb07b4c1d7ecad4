internal import CLinux
public import Logging
internal import ServiceLifecycle
internal import Store
internal import UnixSignals

/// A worker with operations of your own: it takes a seat beside the others of a data directory, is offered the commands
/// whose types it runs, and dies and recovers like any worker.
public struct SluiceWorker: Sendable {
    private let service: WorkerService
    private let logger: Logger

    /// Opens the data directory, which a coordinator or a submit must have made before.
    ///
    /// From then on the whole process ignores SIGPIPE and SIGXFSZ, so that a closed pipe and a file size limit are errors of
    /// a write; and standard input, output and error are /dev/null where they were closed.
    ///
    /// - Parameters:
    ///   - path: the data directory.
    ///   - operations: one for each type that it runs. It runs no others: not even `upload` and `noop`.
    ///   - concurrency: operations of middle and low quality at once, 1 to 1024; high quality has as many places again.
    ///   - grace: how long operations of middle and high quality may go on when it is asked to stop; low quality is
    ///     stopped at once.
    ///   - logger: where it logs.
    /// - Precondition: no two operations have the same type, and every type has the form `[a-z0-9.-]+`, at most 64
    ///   characters.
    /// - Throws: ``SluiceError``: `invalid` for a concurrency out of bounds, `noStore` where there is no store yet,
    ///   `notPermitted` where the directory is somebody else's or open to others.
    public init(
        data path: String, operations: [any CommandOperation], concurrency: Int = 16, grace: Duration = .seconds(25),
        logger: Logger = Logger(label: "sluice.worker")
    ) throws(SluiceError) {
        clinux_prepare_process()
        guard (1...1024).contains(concurrency) else {
            throw SluiceError(.invalid, "concurrency is \(concurrency) and must be from 1 to 1024")
        }
        var configuration = WorkerConfiguration()
        configuration.concurrency = concurrency
        configuration.grace = grace
        do throws(StoreError) {
            let directory = DataDirectory(path: path)
            let store = try SQLiteStore(directory: directory, create: false)
            let registry = OperationRegistry(operations)
            service = WorkerService(
                directory: directory, store: store, registry: registry, configuration: configuration, logger: logger,
                onPhase: {
                    WorkerInfo.leave(seat: $0, phase: $1, concurrency: concurrency, types: registry.types, in: store)
                })
        } catch {
            throw SluiceError(error)
        }
        self.logger = logger
    }

    /// Works until SIGTERM or SIGINT, or until its task is cancelled, then drains and returns: commands of low quality
    /// are given back at once, the others get the grace. It handles both signals for the whole process meanwhile.
    /// - Throws: an error whose description is a sentence: no seat is free, or the store or the sockets cannot be used.
    public func run() async throws {
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: service)], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await group.run()
    }
}
