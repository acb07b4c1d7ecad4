internal import Host
internal import Logging
internal import Metrics
internal import Store

/// The coordinator's access to the store. Reads and writes block, so each kind has a thread; their results
/// come back to the loop. Confined to the loop.
final class StoreAccess {
    /// For bodies that run on the threads, and for the number of shards.
    let store: any CommandStore
    private let callbacks: LoopCallbacks
    /// One thread, so that results come in the order of the reads, and an older one never replaces a newer one.
    private let reader = SerialThread(named: "store-reader")
    /// Reaps, due times and settings may wait for another writer, and reads must not wait behind them.
    private let writer = SerialThread(named: "store-writer")
    private var errors = StoreErrorLog()
    /// The outcome of a write is unknown: commands may be ready of which nothing has told.
    var whenOutcomeIsUnknown: () -> Void = {}
    /// The store belongs to another data directory now: nothing that the coordinator does counts any more.
    var whenMoved: (StoreError) -> Void = { _ in }
    private let logger: Logger
    private let writeTime = Timer(label: "sluice.commit", dimensions: [("role", "coordinator")])

    var shardCount: Int { store.shardCount }

    /// The clock of every time that the coordinator writes into the store, compares with one, or publishes.
    var clock: any StoreClock { store.clock }

    init(_ store: any CommandStore, callbacks: LoopCallbacks, logger: Logger) {
        self.store = store
        self.callbacks = callbacks
        self.logger = logger
    }

    /// Runs what was handed in so far; then the threads end.
    func close() {
        reader.close()
        writer.close()
    }

    /// Reads on the reader's thread.
    /// - Parameters:
    ///   - failure: starts the log line where the read fails; nil where a failure is not worth one.
    ///   - isUrgent: before the reads that wait, which may be sweeps of a large backlog.
    ///   - then: runs on the loop with the value.
    ///   - otherwise: runs on the loop where the read failed, before that is logged.
    func read<Value: Sendable>(
        _ failure: String?, isUrgent: Bool = false,
        _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Value,
        then: @escaping (Value) -> Void, otherwise: @escaping (StoreError) -> Void = { _ in }
    ) {
        run(on: reader, failure, isUrgent: isUrgent, body, then, otherwise)
    }

    /// Writes on the writer's thread; the parameters are those of ``read(_:isUrgent:_:then:otherwise:)``.
    /// - Parameter hasWritten: whether the body has changed anything. Only then its time is measured.
    func write<Value: Sendable>(
        _ failure: String, hasWritten: @escaping @Sendable (Value) -> Bool = { _ in true },
        _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Value,
        then: @escaping (Value) -> Void = { (_: Value) in }, otherwise: @escaping (StoreError) -> Void = { _ in }
    ) {
        let measured = { @Sendable [writeTime] (store: any CommandStore) throws(StoreError) -> Value in
            let start = MonotonicTime.now
            let value = try body(store)
            if hasWritten(value) { writeTime.recordNanoseconds((MonotonicTime.now - start).nanoseconds) }
            return value
        }
        run(on: writer, failure, measured, then, otherwise)
    }

    /// Reads on the reader's thread in steps, each of which is told to the loop as soon as it is known. Urgent reads run in
    /// between.
    func read<Step: Sendable>(
        isUrgent: Bool = false,
        inSteps body: @escaping @Sendable (any CommandStore, (Step) -> Void) -> Void, each: @escaping (Step) -> Void
    ) {
        run(
            on: reader, isUrgent: isUrgent,
            inSteps: { [reader] store, step in
                body(store) {
                    step($0)
                    reader.runUrgent()
                }
            }, each: each, then: {})
    }

    /// Writes on the writer's thread in steps, each of which is told to the loop as soon as it is committed.
    /// - Parameter then: runs on the loop after the last step.
    func write<Step: Sendable>(
        inSteps body: @escaping @Sendable (any CommandStore, (Step) -> Void) -> Void, each: @escaping (Step) -> Void,
        then: @escaping () -> Void
    ) {
        run(
            on: writer,
            inSteps: { [writeTime] store, step in
                let start = MonotonicTime.now
                var hasWritten = false
                body(store) {
                    step($0)
                    hasWritten = true
                }
                if hasWritten { writeTime.recordNanoseconds((MonotonicTime.now - start).nanoseconds) }
            }, each: each, then: then)
    }

    private func run<Step: Sendable>(
        on thread: SerialThread, isUrgent: Bool = false,
        inSteps body: @escaping @Sendable (any CommandStore, (Step) -> Void) -> Void,
        each: @escaping (Step) -> Void, then: @escaping () -> Void
    ) {
        let (call, end) = callbacks.repeatedly(each)
        let finish = callbacks.once { (_: Bool) in
            end()
            then()
        }
        thread.perform(isUrgent: isUrgent) { [store] in
            body(store, call)
            finish(true)
        }
    }

    /// Writes on the writer's thread in steps, each of which is told to the loop as soon as it is committed.
    func write<Step: Sendable>(
        _ failure: String,
        inSteps body: @escaping @Sendable (any CommandStore, (Step) -> Void) throws(StoreError) -> Void,
        each: @escaping (Step) -> Void, otherwise: @escaping (StoreError) -> Void
    ) {
        let step = callbacks.repeatedly(each)
        let call = step.call
        write(failure) { store throws(StoreError) in
            try body(store, call)
        } then: { _ in
            step.end()
        } otherwise: { error in
            step.end()
            otherwise(error)
        }
    }

    /// Logs an error, unless it was logged before (``StoreErrorLog``).
    func report(_ error: StoreError, _ failure: String) {
        if error.code == .unknown { whenOutcomeIsUnknown() }
        if error.code == .moved { whenMoved(error) }
        guard errors.isNew(error, now: .now) else { return }
        logger.error("\(failure): \(error.message)", metadata: error.shard.map { ["shard": "\($0)"] })
    }

    private func run<Value: Sendable>(
        on thread: SerialThread, _ failure: String?, isUrgent: Bool = false,
        _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Value,
        _ then: @escaping (Value) -> Void, _ otherwise: @escaping (StoreError) -> Void
    ) {
        let finish = callbacks.once { [unowned self] (result: Result<Value, StoreError>) in
            switch result {
            case .success(let value): then(value)
            case .failure(let error):
                otherwise(error)
                if let failure { report(error, failure) }
            }
        }
        thread.perform(isUrgent: isUrgent) { [store] in finish(Result { () throws(StoreError) in try body(store) }) }
    }
}
