import Commands
import TestSupport
import Testing

/// Coordinators that crash at any moment, offers that are refused, and saves that fail.
struct TokenBucketSimulationTests {
    @Test func `starts of any window stay within burst and rate over restarts`() throws {
        var random = SeededRandom.announced("TokenBucketSimulationTests")
        var starts = 0
        for _ in 0..<250 { starts += try simulate(&random) }
        #expect(starts > 3000)
    }

    /// - Returns: the number of commands that started.
    private func simulate(_ random: inout SeededRandom) throws -> Int {
        let texts = ["7/s", "100/s", "60/min", "1000/min", "5/h", "900/h", "1000/day"]
        let rate = try #require(StartRate(text: texts.randomElement(using: &random)!))
        let burst = [1, 2, 15, 100].randomElement(using: &random)!
        let perToken = rate.period.duration / rate.count
        var bucket = TokenBucket(rate: rate, burst: burst, isNew: rate.isDurable, now: .zero)
        var saved: TokenBucketState?
        var now = Duration.zero
        var openOffers: [Duration] = []
        // Of each command that started, the time of its offer and that of its claim.
        var (offers, claims): ([Duration], [Duration]) = ([], [])
        let bunching = [0.6, 0.9, 0.97].randomElement(using: &random)!
        let crashes = [0.002, 0.03, 0.15].randomElement(using: &random)!

        for _ in 0..<500 {
            // Commands come in bursts, between long waits.
            let wait = random.chance(bunching) ? 0 : random.chance(0.2) ? 40 : 2.5
            now += perToken * (wait * random.fraction())
            let wallTime = Timestamp.zero + now
            switch random.chance(crashes) ? 0 : random.number(in: 1..<12) {
            case 0:
                // A crash. A worker claims some of the offers that it had.
                let claimed = openOffers.filter { _ in random.chance(0.5) }
                offers += claimed
                claims += claimed.map { _ in now }
                openOffers = []
                // The boot clock of the new coordinator may be another one.
                if let state = saved, rate.isDurable {
                    bucket = TokenBucket(rate: rate, burst: burst, restoring: state, wallTime: wallTime, now: now)
                } else {
                    bucket = TokenBucket(rate: rate, burst: burst, isNew: rate.isDurable, now: now)
                }
                if bucket.isBehind, random.chance(0.8) {
                    saved = bucket.stateToSave(forStarts: 0, wallTime: wallTime, now: now)
                    bucket.stateWasSaved()
                }
            case 1, 2:
                let wanted = random.number(in: 0..<[2, 6, 20].randomElement(using: &random)!)
                if let state = bucket.stateToSave(forStarts: wanted, wallTime: wallTime, now: now) {
                    // Commands start while the state is being written.
                    take(&bucket, now, &openOffers, random.number(in: 0..<20))
                    switch random.number(in: 0..<5) {
                    case 0: bucket.stateWasNotSaved()
                    case 1: saved = state
                    case 2:
                        // The commit reported an error, and is durable.
                        saved = state
                        bucket.stateWasNotSaved()
                    default:
                        saved = state
                        bucket.stateWasSaved()
                    }
                }
            case 3, 4:
                if !openOffers.isEmpty {
                    openOffers.remove(at: random.number(in: 0..<openOffers.count))
                    bucket.giveBack(now: now)
                }
            case 5...7:
                for _ in 0..<random.number(in: 0..<openOffers.count + 1) {
                    offers.append(openOffers.removeLast())
                    claims.append(now)
                    bucket.confirm(now: now)
                }
            default: take(&bucket, now, &openOffers, random.number(in: 0..<120))
            }
            #expect(bucket.openOffers == openOffers.count)
        }
        check(offers.sorted(), rate, burst)
        check(claims, rate, burst)
        return offers.count
    }

    private func take(_ bucket: inout TokenBucket, _ now: Duration, _ openOffers: inout [Duration], _ count: Int) {
        for _ in 0..<count {
            guard bucket.take(now: now) else { return }
            openOffers.append(now)
        }
    }

    /// Checks all windows with a start at each end: the n-th start minus the tokens that fell until then may
    /// exceed the smallest such number before it by the burst at most.
    private func check(_ starts: [Duration], _ rate: StartRate, _ burst: Int) {
        var smallest = Double.infinity
        for (index, time) in starts.enumerated() {
            let level = Double(index) - time.seconds / rate.period.duration.seconds * Double(rate.count)
            smallest = min(smallest, level)
            // One for the first start of the window, and a thousandth for rounding.
            #expect(level - smallest + 1 <= Double(burst) + 0.001, "\(rate), burst \(burst), start \(index)")
        }
    }

    @Test func `a busy bucket reaches its rate while states are saved`() throws {
        for text in ["60/min", "1000/min", "900/h"] {
            let rate = try #require(StartRate(text: text))
            var bucket = TokenBucket(rate: rate, now: .zero)
            var (starts, saves) = (0, 0)
            for tick in 0..<36_000 {
                let now = Duration.milliseconds(100 * tick)
                if bucket.needsSave(now: now) {
                    _ = bucket.stateToSave(wallTime: .zero + now, now: now)
                    bucket.stateWasSaved()
                    saves += 1
                }
                while bucket.take(now: now) {
                    bucket.confirm(now: now)
                    starts += 1
                }
            }
            let expected = 3600 / rate.period.duration.seconds * Double(rate.count)
            #expect(Double(starts) > expected * 0.98 && Double(starts) <= expected + Double(bucket.burst))
            #expect(saves <= 3700)
        }
    }
}
