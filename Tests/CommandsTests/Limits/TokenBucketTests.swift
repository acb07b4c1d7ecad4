import Commands
import Testing

struct TokenBucketTests {
    /// A bucket behind a reference, so that an expectation may change it.
    @dynamicMemberLookup
    private final class Subject {
        var bucket: TokenBucket
        init(_ bucket: TokenBucket) { self.bucket = bucket }

        subscript<Value>(dynamicMember path: KeyPath<TokenBucket, Value>) -> Value { bucket[keyPath: path] }
        func take(now: Duration) -> Bool { bucket.take(now: now) }
        func confirm(now: Duration) { bucket.confirm(now: now) }
        func giveBack(now: Duration) { bucket.giveBack(now: now) }
        func tokens(now: Duration) -> Int { bucket.tokens(now: now) }
        func nextToken(now: Duration) -> Duration? { bucket.nextToken(now: now) }
        func needsSave(now: Duration) -> Bool { bucket.needsSave(now: now) }
        func stateToSave(forStarts starts: Int, wallTime: Timestamp, now: Duration) -> TokenBucketState? {
            bucket.stateToSave(forStarts: starts, wallTime: wallTime, now: now)
        }
    }

    private func bucket(_ text: String, burst: Int? = nil) throws -> Subject {
        Subject(TokenBucket(rate: try #require(StartRate(text: text)), burst: burst, now: .zero))
    }

    @Test func `a bucket begins empty and fills up to its burst`() throws {
        let bucket = try bucket("10/s", burst: 3)
        #expect(!bucket.take(now: .zero))
        #expect(bucket.nextToken(now: .zero) == .milliseconds(100))
        #expect(!bucket.take(now: .milliseconds(99)))
        #expect(bucket.take(now: .milliseconds(100)))
        bucket.confirm(now: .milliseconds(100))
        #expect(bucket.tokens(now: .seconds(3600)) == 3)
        #expect(bucket.nextToken(now: .seconds(3600)) == .zero)
    }

    @Test func `a rate that does not divide a second is exact over a day`() throws {
        let bucket = try bucket("7/s", burst: 1)
        var (now, count) = (Duration.zero, 0)
        while let wait = bucket.nextToken(now: now), now + wait <= .seconds(1000) {
            now += wait
            #expect(bucket.take(now: now))
            bucket.confirm(now: now)
            count += 1
        }
        // Each wait is rounded up to a nanosecond, and the part that is left over counts for the next.
        #expect(count == 6999 || count == 7000)
    }

    @Test func `a token that comes back can be taken again at once`() throws {
        let bucket = try bucket("5/s", burst: 1)
        #expect(bucket.take(now: .seconds(1)))
        #expect(bucket.nextToken(now: .seconds(1)) == nil)
        bucket.giveBack(now: .seconds(1))
        #expect(bucket.take(now: .seconds(1)))
        bucket.confirm(now: .seconds(1))
        bucket.giveBack(now: .seconds(1))
        bucket.giveBack(now: .seconds(1))
        #expect(!bucket.take(now: .seconds(1)))
    }

    @Test func `tokens that come back late do not exceed the burst`() throws {
        let bucket = try bucket("10/s", burst: 5)
        for _ in 0..<5 { #expect(bucket.take(now: .seconds(1))) }
        // The open offers keep the bucket from filling.
        #expect(bucket.tokens(now: .seconds(100)) == 0)
        for _ in 0..<5 { bucket.giveBack(now: .seconds(100)) }
        #expect(bucket.tokens(now: .seconds(100)) == 5)
    }

    @Test func `a clock that goes back gives no tokens and the bucket fills on`() throws {
        let bucket = try bucket("1/s", burst: 2)
        #expect(bucket.take(now: .seconds(1)))
        bucket.confirm(now: .seconds(1))
        #expect(!bucket.take(now: .seconds(-1000)))
        #expect(bucket.take(now: .seconds(-999)))
    }

    @Test func `another rate keeps the tokens up to the new burst`() throws {
        let bucket = try bucket("10/s", burst: 8)
        #expect(bucket.tokens(now: .seconds(10)) == 8)
        bucket.bucket.set(rate: try #require(StartRate(text: "2/s")), burst: 4, now: .seconds(10))
        #expect(bucket.tokens(now: .seconds(10)) == 4)
        for _ in 0..<4 { #expect(bucket.take(now: .seconds(10))) }
        bucket.bucket.set(rate: bucket.rate, burst: 1, now: .seconds(10))
        for _ in 0..<4 { bucket.confirm(now: .seconds(10)) }
        #expect(bucket.nextToken(now: .seconds(10)) == .milliseconds(500))
    }

    @Test func `a bucket of a minute starts nothing before its state is saved`() throws {
        let bucket = try bucket("60/min", burst: 20)
        #expect(!bucket.needsSave(now: .zero))
        #expect(!bucket.take(now: .seconds(10)))
        #expect(bucket.needsSave(now: .seconds(10)))
        let state = try #require(bucket.stateToSave(forStarts: 2, wallTime: .zero, now: .seconds(10)))
        #expect(state.milliTokens == 8000 && state.maxTokens == 18)
        #expect(!bucket.take(now: .seconds(10)))
        bucket.bucket.stateWasSaved()
        #expect(bucket.take(now: .seconds(10)) && bucket.take(now: .seconds(10)))
        #expect(!bucket.take(now: .seconds(10)))
    }

    @Test func `a restart keeps the quota of a day but for the reserve`() throws {
        let bucket = try bucket("1000/day", burst: 1000)
        let state = try #require(bucket.stateToSave(forStarts: 100, wallTime: .zero, now: .seconds(86_400)))
        #expect(TokenBucketState(state.json) == state)
        for seconds in [0, -86_400, 864_000] {
            let restored = Subject(
                TokenBucket(
                    rate: bucket.rate, burst: 1000, restoring: state, wallTime: .zero + .seconds(seconds),
                    now: .seconds(5)))
            #expect(restored.tokens(now: .seconds(5)) == 900)
            #expect(!restored.take(now: .seconds(5)) && restored.needsSave(now: .seconds(5)))
        }
    }

    @Test func `the bucket of a new limit begins with one token`() throws {
        let rate = try #require(StartRate(text: "1000/day"))
        #expect(TokenBucket(rate: rate, isNew: true, now: .seconds(5)).tokens(now: .seconds(5)) == 1)
    }

    @Test func `a bucket is behind until it was saved, and again when its reserve has started`() throws {
        let bucket = Subject(TokenBucket(rate: try #require(StartRate(text: "6/min")), isNew: true, now: .zero))
        #expect(bucket.isBehind)
        _ = bucket.stateToSave(forStarts: 1, wallTime: .zero, now: .zero)
        #expect(!bucket.isBehind)
        bucket.bucket.stateWasSaved()
        #expect(!bucket.isBehind && bucket.take(now: .zero) && !bucket.isBehind)
        bucket.confirm(now: .zero)
        #expect(bucket.isBehind)
        let state = try #require(bucket.stateToSave(forStarts: 0, wallTime: .zero, now: .seconds(5)))
        #expect(state.milliTokens == 500 && state.maxTokens == 1)
        bucket.bucket.stateWasSaved()
        #expect(!bucket.isBehind)
    }

    @Test func `within a boot a saved state ages by the monotonic clock, whatever the wall clock says`() throws {
        let rate = try #require(StartRate(text: "60/min"))
        var state = TokenBucketState(milliTokens: 0, maxTokens: 50, savedAt: .zero)
        (state.boot, state.sinceBoot) = ("b", .seconds(100))
        #expect(TokenBucketState(state.json) == state)
        for days in [-8, 0, 8] {
            func tokens(boot: String) -> Int {
                let wallTime = Timestamp.zero + .seconds(days * 86_400 + 20)
                let bucket = TokenBucket(
                    rate: rate, burst: 50, restoring: state, wallTime: wallTime, boot: boot, now: .seconds(110))
                return bucket.tokens(now: .seconds(110))
            }
            #expect(tokens(boot: "b") == 10)
            #expect(tokens(boot: "c") == (days < 0 ? 0 : days > 0 ? 50 : 20))
        }
    }

    @Test func `the time of an outage fills a bucket that was used up`() throws {
        let rate = try #require(StartRate(text: "24/h"))
        let state = TokenBucketState(milliTokens: 500, maxTokens: 20, savedAt: .zero)
        let bucket = TokenBucket(
            rate: rate, burst: 24, restoring: state, wallTime: .zero + .seconds(1800), now: .seconds(5))
        #expect(bucket.tokens(now: .seconds(5)) == 12)
    }

    @Test func `a coordinator that ends saves the tokens without a reserve`() throws {
        let bucket = try bucket("1000/day", burst: 1000)
        let state = try #require(bucket.stateToSave(forStarts: 0, wallTime: .zero, now: .seconds(86_400)))
        #expect(state.milliTokens == 1_000_000 && state.maxTokens == 1000)
        bucket.bucket.stateWasSaved()
        #expect(!bucket.take(now: .seconds(86_400)))
    }

    @Test func `a save that fails leaves the reserve before it`() throws {
        let bucket = try bucket("60/min", burst: 20)
        _ = bucket.stateToSave(forStarts: 2, wallTime: .zero, now: .seconds(20))
        bucket.bucket.stateWasSaved()
        _ = bucket.stateToSave(forStarts: 2, wallTime: .zero, now: .seconds(20))
        #expect(bucket.take(now: .seconds(20)))
        bucket.bucket.stateWasNotSaved()
        #expect(bucket.take(now: .seconds(20)))
        #expect(!bucket.take(now: .seconds(20)))
    }

    @Test func `a start while a smaller reserve is being written counts against both states`() throws {
        let bucket = try bucket("60/min", burst: 20)
        _ = bucket.stateToSave(forStarts: 10, wallTime: .zero, now: .seconds(20))
        bucket.bucket.stateWasSaved()
        _ = bucket.stateToSave(forStarts: 1, wallTime: .zero, now: .seconds(20))
        #expect(bucket.take(now: .seconds(20)))
        #expect(!bucket.take(now: .seconds(20)))
        bucket.bucket.stateWasSaved()
        #expect(!bucket.take(now: .seconds(20)) && bucket.needsSave(now: .seconds(20)))
    }

    @Test func `a restored bucket leaves room for the open offers of the one that crashed`() throws {
        let bucket = try bucket("60/min", burst: 20)
        _ = bucket.stateToSave(forStarts: 10, wallTime: .zero, now: .seconds(20))
        bucket.bucket.stateWasSaved()
        for _ in 0..<6 { #expect(bucket.take(now: .seconds(20))) }
        let state = try #require(bucket.stateToSave(forStarts: 4, wallTime: .zero, now: .seconds(20)))
        #expect(state.milliTokens == 10_000 && state.maxTokens == 10)
        let restored = TokenBucket(
            rate: bucket.rate, burst: 20, restoring: state, wallTime: .zero + .seconds(3600), now: .zero)
        #expect(restored.tokens(now: .zero) == 10)
    }

    @Test func `absurd times and states do not trap`() throws {
        let times: [Duration] = [.seconds(Int64.min), .seconds(-1), .zero, .nanoseconds(1), .seconds(Int64.max)]
        let stamps = [Int64.min, 0, .max].map { Timestamp(milliseconds: $0) }
        for text in ["1000000/s", "1/day"] {
            for (first, second) in times.flatMap({ first in times.map { (first, $0) } }) {
                for (saved, wallTime) in stamps.flatMap({ saved in stamps.map { (saved, $0) } }) {
                    let state = TokenBucketState(milliTokens: .max, maxTokens: .min, savedAt: saved)
                    var bucket = TokenBucket(
                        rate: try #require(StartRate(text: text)), burst: .max, restoring: state, wallTime: wallTime,
                        now: first)
                    _ = bucket.take(now: second)
                    bucket.giveBack(now: first)
                    _ = bucket.nextToken(now: second)
                    _ = bucket.stateToSave(wallTime: wallTime, now: first)
                    #expect(bucket.tokens(now: second) <= StartRate.maxBurst)
                }
            }
        }
    }
}
