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
