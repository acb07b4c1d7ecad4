package import Host

/// The threads on which a process reads a store: a bounded number, because readings of one shard take turns anyway.
///
/// A read never waits for another process. A write does, for up to 10 s (``WriteTimeout``), so no write may run here.
package final class StoreReaders: BodyPerformer {
    private let store: any CommandStore
    private let pool: BlockingPool

    /// - Parameter maxThreads: reads at once; the others wait.
    package init(_ store: any CommandStore, maxThreads: Int = 16) {
        self.store = store
        pool = BlockingPool(named: "sluice-read", maxThreads: maxThreads)
    }

    /// Reads on one of the threads, without blocking the caller.
    /// - Parameter isUrgent: before the reads that wait, which may be lists or sweeps: for a look-up of one command.
    package func read<Value: Sendable>(
        isUrgent: Bool = false, _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await run(isUrgent: isUrgent) { [store] () throws(StoreError) in try body(store) }
    }

    package func perform(isUrgent: Bool, _ body: @escaping Body) { pool.perform(isUrgent: isUrgent, body) }
}
