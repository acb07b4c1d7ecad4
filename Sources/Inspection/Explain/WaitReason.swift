internal import Commands

/// Something that holds a command back, or the state that makes the question idle.
struct WaitReason: Equatable {
    /// A word that scripts can rely on: `coordinator`, `worker`, `type`, `pause`, `notBefore`, `backoff`, `link`,
    /// `linkWait`, `circuitBreaker`, `shard`, `suspect`, `cancel`, `dependencies`, `doubt`, `places`, `running`, `ended`,
    /// and the rules of admission: `maxConcurrency`, `pushback`, `slowStart`, `linkLimit`, `uplinkLimit`, `probes`, `untried`,
    /// `fairShare`, `slots`, `maxTransfers`.
    var name: String
    /// What it reads now.
    var value: String
    /// What it would have to read; nil where there is no such thing.
    var threshold: String?
    /// What will open it.
    var opens: String
    /// It makes slower and lets begin.
    var isPace = false

    var sentence: String {
        let limit = threshold.map { " (needs: \($0))" } ?? ""
        return "\(name): \(value)\(limit). \(opens)."
    }

    var json: JSONValue {
        .object([
            .init("gate", .string(name)), .init("value", .string(value)),
            .init("threshold", threshold.map { .string($0) } ?? .null), .init("opens", .string(opens)),
        ])
    }
}
