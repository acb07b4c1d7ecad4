import Commands
import Host
import Logging
import Store
import Synchronization
import TestSupport
import Testing

@testable import Door

struct TokenCacheTests {
    private let probe = SettingsProbe(MemoryStore())
    private var store: TokenStore { TokenStore(probe) }
    private let time = Shared(MonotonicTime(nanoseconds: 1_000_000_000))
    private let record = TokenRecord(AccessToken(), name: "ci", scopes: [.read], created: .zero)

    private func cache() -> TokenCache {
        TokenCache(store, logger: Logger(label: "test"), clock: { [time] in time.value })
    }

    @Test func `a revocation is seen half a second later, and until then the store is not read`() async throws {
        try store.add(record, now: .zero)
        let cache = cache()
        defer { cache.close() }
        #expect(try await cache.token(record.id)?.revoked == nil)
        let reads = probe.reads
        _ = try store.revoke(record.id, now: Timestamp(milliseconds: 7))
        let afterRevocation = probe.reads
        time.change { $0 += .milliseconds(499) }
        #expect(try await cache.token(record.id)?.revoked == nil)
        #expect(probe.reads == afterRevocation && reads <= afterRevocation)
        time.change { $0 += .milliseconds(1) }
        #expect(try await cache.token(record.id)?.revoked == Timestamp(milliseconds: 7))
    }

    @Test func `a new token is known at once`() async throws {
        let cache = cache()
        defer { cache.close() }
        #expect(try await cache.token(record.id) == nil)
        try store.add(record, now: .zero)
        time.change { $0 += .milliseconds(50) }
        #expect(try await cache.token(record.id) == record)
    }

    @Test func `a thousand requests with unknown tokens cost two reads`() async throws {
        let cache = cache()
        defer { cache.close() }
        _ = try await cache.token("0000000000")
        let reads = probe.reads
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<1000 { group.addTask { _ = try? await cache.token("0000000000") } }
        }
        #expect(probe.reads - reads <= 2, "\(probe.reads - reads)")
    }

    @Test func `a store that cannot be read is an error, and works again afterwards`() async throws {
        try store.add(record, now: .zero)
        let cache = cache()
        defer { cache.close() }
        #expect(try await cache.token(record.id) == record)
        time.change { $0 += .seconds(1) }
        probe.fail(StoreError(.failed, "The disk is gone."))
        await #expect(throws: StoreError.self) { try await cache.token(record.id) }
        probe.fail(nil)
        #expect(try await cache.token(record.id) == record)
    }

    @Test func `the use of a token is recorded at most once a minute`() async throws {
        try store.add(record, now: .zero)
        let cache = cache()
        defer { cache.close() }
        func lastUsed() throws -> Timestamp? { try store.tokens().records.first?.lastUsed }
        let first = Timestamp(milliseconds: 100_000)
        cache.markUsed(record, at: first)
        try await until("the first use") { try lastUsed() == first }
        cache.markUsed(record, at: first + .milliseconds(59_999))
        cache.markUsed(record, at: first + .seconds(60))
        try await until("the second use") { try lastUsed() == first + .seconds(60) }
    }
}
