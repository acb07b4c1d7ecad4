internal import Door
internal import Synchronization

/// The keys of requests that run, so that two requests with one `Idempotency-Key` do not both find that there was none.
final class RunningKeys: Sendable {
    private let keys = Mutex<Set<IdempotencyScope>>([])

    /// Runs `body` as the only request with its key.
    /// - Parameter key: nil runs it beside all others.
    /// - Throws: ``Problem`` 409 where another runs, and the errors of `body`.
    func run<Value>(_ key: IdempotencyScope?, _ body: () async throws -> Value) async throws -> Value {
        guard let key else { return try await body() }
        guard keys.withLock({ $0.insert(key).inserted }) else { throw IdempotencyScope.inUse }
        defer { keys.withLock { _ = $0.remove(key) } }
        return try await body()
    }
}
