import Host
import Store
import Testing

@Suite struct StoreErrorLogTests {
    @Test func `a damaged shard is logged once`() {
        var log = StoreErrorLog()
        #expect(isNew(&log, StoreError(.corrupt, "shard 1 is damaged", shard: 1), .zero))
        #expect(!isNew(&log, StoreError(.corrupt, "shard 1 is damaged", shard: 1), after(600)))
        #expect(isNew(&log, StoreError(.corrupt, "shard 2 is damaged", shard: 2), .zero))
    }

    @Test func `a locked shard is logged once a minute`() {
        var log = StoreErrorLog()
        #expect(isNew(&log, StoreError(.busy, "locked", shard: 1), after(5)))
        #expect(!isNew(&log, StoreError(.busy, "locked", shard: 1), after(64)))
        #expect(isNew(&log, StoreError(.busy, "locked", shard: 2), after(5)), "another shard")
        #expect(isNew(&log, StoreError(.busy, "locked", shard: 1), after(65)))
    }

    /// Every shard meets a full disk several times a second.
    @Test(arguments: [.full, .unreachable] as [StoreError.Code])
    func `a full disk or a server that is away is logged once a minute, whichever shard meets it`(
        _ code: StoreError.Code
    ) {
        var log = StoreErrorLog()
        #expect(isNew(&log, StoreError(code, "shard 1 could not be written", shard: 1), .zero))
        for shard in 0..<8 {
            #expect(!isNew(&log, StoreError(code, "shard \(shard) could not be written", shard: shard), after(59)))
        }
        #expect(isNew(&log, StoreError(code, "shard 3 could not be written", shard: 3), after(61)))
    }

    @Test func `another error is logged once a minute by its message`() {
        var log = StoreErrorLog()
        #expect(isNew(&log, StoreError(.exhausted, "too many files"), .zero))
        #expect(!isNew(&log, StoreError(.exhausted, "too many files"), after(1)))
        #expect(isNew(&log, StoreError(.exhausted, "no memory"), after(1)))
    }

    private func isNew(_ log: inout StoreErrorLog, _ error: StoreError, _ now: MonotonicTime) -> Bool {
        log.isNew(error, now: now)
    }

    private func after(_ seconds: Int64) -> MonotonicTime { .zero + .seconds(seconds) }
}
