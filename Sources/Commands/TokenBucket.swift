/// Limits the starts of commands to a rate and a burst. Pure.
///
/// The bucket of a new limit begins with one token, any other as its saved state says. A token is taken for each offer. It is either confirmed, when a worker has claimed the
/// command, or given back, when the offer was refused or forgotten. Until then it counts as if it lay in the
/// bucket: tokens and open offers together never exceed the burst. In any time T therefore at most
/// burst + rate × T tokens are taken that do not come back.
///
/// ```
///            take                   confirm
///  tokens ─────────► open offers ─────────────► started
///    ▲                    │
///    └────────────────────┘ giveBack
/// ```
///
/// For a period of a minute or more a restart must not cost the quota of a day. Such a bucket allows only starts
/// that its saved state already counts as taken, the *reserve* (``TokenBucketState``). A crash therefore costs at
/// most the reserve, and no token is granted a second time. A bucket is saved when it is made and when its reserve has
/// started, so that what accrues after that outlives a crash at any moment.
///
/// The parameter `now` is the time from any fixed origin on a clock that does not jump, such as the boot. A clock
/// that goes back gives no tokens, and the bucket fills on from the earlier time.
package struct TokenBucket: Sendable, Equatable {
    package private(set) var rate: StartRate
    package private(set) var burst: Int
    /// Tokens times the nanoseconds of the period, so that a rate that does not divide a second is exact: each
    /// nanosecond adds the count.
    private var level: Int128 = 0
    private var updated: Duration
    /// Tokens that were taken and neither confirmed nor given back.
    package private(set) var openOffers = 0
    /// Starts that the saved state counts as taken; unused where the rate is not durable.
    package private(set) var reserve = 0
    /// The reserve of a state that is being written.
    private var pendingReserve: Int?
    /// Tokens that the saved state holds back, for its reserve and for open offers; nil where that is not known.
    private var heldBack: Int?
    /// The same of a state that is being written.
    private var pendingHeldBack = 0

    /// - Parameters:
    ///   - burst: 1…``StartRate/maxBurst``, clamped; nil for the default of the rate.
    ///   - isNew: the limit has never existed, so it begins with one token; else the bucket begins empty.
    package init(rate: StartRate, burst: Int? = nil, isNew: Bool = false, now: Duration) {
        self.rate = rate
        self.burst = Self.clamped(burst, rate)
        updated = now
        if isNew { level = period }
    }

    /// A bucket with the state that an earlier coordinator saved. It gives no token before it was saved again.
    /// - Parameters:
    ///   - wallTime: the wall clock, for a state of another boot. One that is before the saved time gives no tokens,
    ///     and one that is far ahead fills the bucket up to the burst without the reserve.
    ///   - boot: the boot of the machine; nil where it is not known.
    package init(
        rate: StartRate, burst: Int? = nil, restoring state: TokenBucketState, wallTime: Timestamp,
        boot: String? = nil, now: Duration
    ) {
        self.init(rate: rate, burst: burst, now: now)
        guard rate.isDurable else { return }
        let elapsed = state.age(boot: boot, wallTime: wallTime, now: now)
        let saved = Int128(min(max(state.milliTokens, -Self.maxMilliTokens), Self.maxMilliTokens)) * period / 1000
        let room = Int128(min(max(state.maxTokens, -StartRate.maxCount), self.burst)) * period
        level = min(saved + Self.nanoseconds(elapsed) * Int128(rate.count), room)
    }

    /// Another rate or burst. The tokens stay, up to the new burst.
    package mutating func set(rate new: StartRate, burst newBurst: Int? = nil, now: Duration) {
        fill(now: now)
        level = level * Self.nanoseconds(new.period.duration) / period
        let (oldRate, oldBurst) = (rate, burst)
        rate = new
        burst = Self.clamped(newBurst, new)
        // The saved state belongs to the other limit.
        if rate != oldRate || burst != oldBurst { (reserve, pendingReserve, heldBack) = (0, nil, nil) }
        level = max(min(level, capacity), min(level, 0))
    }

    // MARK: Starts

    /// Takes a token for an offer.
    /// - Returns: false where there is none, or where the state must be saved first (``needsSave(now:)``).
    package mutating func take(now: Duration) -> Bool {
        fill(now: now)
        guard level >= period, hasReserve else { return false }
        level -= period
        openOffers += 1
        if rate.isDurable {
            reserve -= 1
            pendingReserve? -= 1
        }
        return true
    }

    /// The command of an open offer was claimed.
    package mutating func confirm(now: Duration) {
        fill(now: now)
        openOffers = max(openOffers - 1, 0)
    }

    /// An open offer was refused or forgotten. Without an open offer nothing happens.
    package mutating func giveBack(now: Duration) {
        fill(now: now)
        guard openOffers > 0 else { return }
        openOffers -= 1
        // The reserve stays as it is: a state that was saved since counts the token as taken.
        level = max(min(level + period, capacity), level)
    }

    /// Whether ``take(now:)`` gives a token now.
    package func hasToken(now: Duration) -> Bool { hasReserve && level(now: now) >= period }

    /// Whole tokens in the bucket.
    package func tokens(now: Duration) -> Int { Int(max(level(now: now), 0) / period) }

    /// The time until there is a token; zero where there is one, also where the state must be saved first. Nil
    /// while open offers hold all tokens of the burst: the next confirmation or return decides.
    package func nextToken(now: Duration) -> Duration? {
        let level = level(now: now)
        guard level < period else { return .zero }
        guard capacity >= period else { return nil }
        let count = Int128(rate.count)
        return .nanoseconds(Int64(clamping: (period - level + count - 1) / count))
    }

    // MARK: Saving

    /// Whether the saved state holds back more than it must, or there is none: what accrues would be lost by a crash.
    package var isBehind: Bool {
        rate.isDurable && pendingReserve == nil && reserve == 0 && openOffers == 0 && heldBack != 0
    }

    /// Whether a token is there and waits for the state to be saved.
    package func needsSave(now: Duration) -> Bool {
        !hasReserve && pendingReserve == nil && level(now: now) >= period
    }

    /// The state to save when ``needsSave(now:)``, and for 0 starts when it ``isBehind``, the coordinator ends or the limit
    /// is idle.
    /// Nil for a rate that is not durable.
    ///
    /// Call ``stateWasSaved()`` after its commit, or ``stateWasNotSaved()``. A call before that replaces the
    /// state that is being written.
    /// - Parameter starts: the commands that wait for this limit. The reserve is that number up to the burst, and
    ///   at least the starts of one second, so that a busy limit is saved once a second. For 0 it is 0.
    package mutating func stateToSave(
        forStarts starts: Int = 1, wallTime: Timestamp, now: Duration
    ) -> TokenBucketState? {
        guard rate.isDurable else { return nil }
        fill(now: now)
        stateWasNotSaved()
        let reserve = starts <= 0 ? 0 : max(min(starts, burst), rate.startsPerSecond)
        pendingReserve = reserve
        pendingHeldBack = reserve + openOffers
        // Rounded down, also below zero.
        let milliTokens = (level - Int128(reserve) * period) * 1000
        let (quotient, remainder) = milliTokens.quotientAndRemainder(dividingBy: period)
        return TokenBucketState(
            milliTokens: Int64(clamping: remainder < 0 ? quotient - 1 : quotient),
            maxTokens: burst - openOffers - reserve, savedAt: wallTime)
    }

    /// The state of the last ``stateToSave(forStarts:wallTime:now:)`` is durable: its reserve may start.
    package mutating func stateWasSaved() {
        if let pendingReserve { (reserve, heldBack) = (pendingReserve, pendingHeldBack) }
        pendingReserve = nil
    }

    /// Whether the state of the last ``stateToSave(forStarts:wallTime:now:)`` is durable is not known, as after a
    /// commit that reported an error. A restart may find it or the one before: the smaller reserve holds.
    package mutating func stateWasNotSaved() {
        if let pendingReserve { (reserve, heldBack) = (min(reserve, pendingReserve), nil) }
        pendingReserve = nil
    }

    private static let maxMilliTokens = Int64(StartRate.maxCount) * 1000

    /// A start counts against both states while one is being written: either may be the one that a restart finds.
    private var hasReserve: Bool { !rate.isDurable || reserve > 0 && pendingReserve ?? 1 > 0 }
    private var period: Int128 { Self.nanoseconds(rate.period.duration) }
    private var capacity: Int128 { Int128(burst - openOffers) * period }

    private func level(now: Duration) -> Int128 {
        let elapsed = max(Self.nanoseconds(now) - Self.nanoseconds(updated), 0)
        return max(min(level + elapsed * Int128(rate.count), capacity), level)
    }

    private mutating func fill(now: Duration) {
        level = level(now: now)
        updated = now
    }

    private static func clamped(_ burst: Int?, _ rate: StartRate) -> Int {
        min(max(burst ?? rate.defaultBurst, 1), StartRate.maxBurst)
    }

    private static func nanoseconds(_ duration: Duration) -> Int128 {
        let (seconds, attoseconds) = duration.components
        return Int128(seconds) * 1_000_000_000 + Int128(attoseconds / 1_000_000_000)
    }
}

/// The part of a ``TokenBucket`` that outlives its coordinator.
///
/// It is a lower bound of the bucket until the next save: the starts of the reserve are already subtracted. A
/// coordinator that crashes may have started any number of them.
package struct TokenBucketState: Hashable, Sendable {
    /// Thousandths of a token without the reserve, rounded down. It is negative where the reserve is larger than
    /// the tokens that were there: it may start what falls into the bucket until the next save.
    package var milliTokens: Int64
    /// The most tokens that a restored bucket begins with: the burst without the reserve and the open offers. A
    /// negative number delays the first start.
    package var maxTokens: Int
    /// The wall clock at the save.
    package var savedAt: Timestamp
    /// The boot of the machine at the save; nil in a state of release 0.1.0.
    package var boot: String?
    /// The clock of the bucket at the save, which holds within that boot.
    package var sinceBoot: Duration?

    package init(milliTokens: Int64, maxTokens: Int, savedAt: Timestamp) {
        self.milliTokens = milliTokens
        self.maxTokens = maxTokens
        self.savedAt = savedAt
    }

    /// The time since the save: by the clock of the bucket within one boot, else by the wall clock, which may be wrong.
    ///
    /// - Parameters:
    ///   - boot: the boot of the machine now.
    ///   - now: the clock of the bucket.
    func age(boot: String?, wallTime: Timestamp, now: Duration) -> Duration {
        guard let sinceBoot, let boot, boot == self.boot else { return max(wallTime - savedAt, .zero) }
        return max(now - sinceBoot, .zero)
    }
}

extension TokenBucketState {
    /// `{"milliTokens":…,"maxTokens":…,"savedAt":"2026-03-29T01:00:00.000Z","boot":"…","sinceBoot":…}`, the last in
    /// milliseconds.
    package var json: JSONValue {
        .object([
            .init("milliTokens", .integer(milliTokens)), .init("maxTokens", .integer(Int64(maxTokens))),
            .init("savedAt", .string(savedAt.description)), .init("boot", boot.map { .string($0) } ?? .null),
            .init("sinceBoot", sinceBoot.map { .integer($0.milliseconds) } ?? .null),
        ])
    }

    /// Reads ``json`` back; nil for anything else.
    package init?(_ value: JSONValue) {
        guard let milliTokens = value["milliTokens"]?.integer, let maxTokens = value["maxTokens"]?.integer,
            let savedAt = value["savedAt"]?.timestamp
        else { return nil }
        self.init(milliTokens: milliTokens, maxTokens: Int(maxTokens), savedAt: savedAt)
        boot = value["boot"]?.string
        sinceBoot = value["sinceBoot"]?.integer.map { .milliseconds($0) }
    }
}
