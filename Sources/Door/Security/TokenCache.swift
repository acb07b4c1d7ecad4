package import Commands
package import Host
package import Logging
package import Store
internal import Synchronization

/// The access tokens in memory. A read of the store is at most ``maxAge`` old when a request uses it, so a revocation
/// takes effect in that time.
///
/// Reads and writes block, each on a thread of its own: a write waits behind other writers.
package final class TokenCache: Sendable {
    private typealias Waiter = CheckedContinuation<Result<[String: TokenRecord], StoreError>, Never>

    private struct State {
        var records: [String: TokenRecord] = [:]
        /// When the read of ``records`` began.
        var readAt: MonotonicTime?
        var waiters: [Waiter] = []
        /// When the use of a token was recorded last.
        var usedAt: [String: Timestamp] = [:]

        /// Nil where the last read is older than `maxAge`.
        func records(maxAge: Duration, now: MonotonicTime) -> [String: TokenRecord]? {
            readAt.flatMap { now - $0 < maxAge ? records : nil }
        }
    }

    package static let maxAge: Duration = .milliseconds(500)
    /// A token that is not known may be new: its request waits for another read. The limit bounds the reads that a client
    /// with wrong tokens causes.
    private static let maxAgeOfMissing: Duration = .milliseconds(50)
    private static let useInterval: Duration = .seconds(60)

    private let store: TokenStore
    private let logger: Logger
    private let clock: @Sendable () -> MonotonicTime
    private let reads = SerialThread(named: "door-tokens")
    private let writes = SerialThread(named: "door-token-use")
    private let state = Mutex(State())

    package init(
        _ store: TokenStore, logger: Logger, clock: @escaping @Sendable () -> MonotonicTime = { MonotonicTime.now }
    ) {
        self.store = store
        self.logger = logger
        self.clock = clock
    }

    /// The token with that id; nil where there is none.
    /// - Throws: where the store cannot be read. An earlier read does not count then, because it hides a revocation.
    package func token(_ id: String) async throws(StoreError) -> TokenRecord? {
        if let record = try await records(maxAge: Self.maxAge)[id] { return record }
        let wait = state.withLock { state in state.readAt.map { Self.maxAgeOfMissing - (clock() - $0) } ?? .zero }
        if wait > .zero { try? await Task.sleep(for: wait) }
        return try await records(maxAge: Self.maxAgeOfMissing)[id]
    }

    private func records(maxAge: Duration) async throws(StoreError) -> [String: TokenRecord] {
        let now = clock()
        if let records = state.withLock({ $0.records(maxAge: maxAge, now: now) }) { return records }
        let result = await withCheckedContinuation { (waiter: Waiter) in
            let isFirst = state.withLock { state -> Bool in
                if let records = state.records(maxAge: maxAge, now: now) {
                    waiter.resume(returning: .success(records))
                    return false
                }
                state.waiters.append(waiter)
                return state.waiters.count == 1
            }
            if isFirst { reads.perform { [self] in read() } }
        }
        return try result.get()
    }

    /// Requests that come during the read are part of the next one: the read may have missed what they must see.
    private func read() {
        let began = clock()
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        let result = Result { () throws(StoreError) in
            let records = try store.tokens().records
            return Dictionary(records.map { ($0.id, $0) }) { first, _ in first }
        }
        if case .success(let records) = result {
            state.withLock { state in
                state.records = records
                state.readAt = began
                state.usedAt = state.usedAt.filter { records[$0.key] != nil }
            }
        }
        for waiter in waiters { waiter.resume(returning: result) }
    }

    /// Records the use of a token, at most once a minute. A request does not wait for it, and a failure costs nothing
    /// but the record.
    package func markUsed(_ record: TokenRecord, at now: Timestamp) {
        let isDue = state.withLock { state in
            let last = [state.usedAt[record.id], record.lastUsed].compactMap(\.self).max()
            // A clock that was set back must not end the records.
            if let last, last <= now, now - last < Self.useInterval { return false }
            state.usedAt[record.id] = now
            return true
        }
        guard isDue else { return }
        writes.perform { [store, logger] in
            do throws(StoreError) {
                try store.markUsed(record.id, at: now)
            } catch {
                logger.debug(
                    "The use of a token was not recorded.", metadata: ["token": "\(record.id)", "error": "\(error)"])
            }
        }
    }

    /// Ends the threads after the writes that are due.
    package func close() {
        reads.close()
        writes.close()
    }
}
