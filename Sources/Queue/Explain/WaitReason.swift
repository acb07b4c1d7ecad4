package import Commands

/// A reason why a command does not run, or the status that makes the question pointless.
package struct WaitReason: Equatable {
    /// A word that scripts can rely on: `coordinator`, `worker`, `type`, `pause`, `notBefore`, `backoff`,
    /// `link`, `linkWait`, `circuitBreaker`, `shard`, `suspect`, `cancel`, `dependencies`, `order`, `flow`, `doubt`,
    /// `places`, `earlierRun`, `endpoint`, `running`, `ended`, and the rules of admission: `maxConcurrency`, `pushback`, `slowStart`,
    /// `linkLimit`, `uplinkLimit`, `probes`, `untried`, `fairShare`, `slots`, `maxTransfers`, `rate`.
    package var name: String
    /// The value now.
    package var measured: String
    /// The value at which the wait ends; nil where there is no such value.
    package var threshold: String?
    /// The event that ends the wait.
    package var remedy: String
    /// The same for programs: an object, empty where `name` says all.
    package var values: JSONValue
    /// The command may start, and is only slowed down.
    var isThrottle = false

    init(_ name: String, _ measured: String, threshold: String? = nil, remedy: String, values: JSONValue = .object([]))
    {
        self.name = name
        self.measured = measured
        self.threshold = threshold
        self.remedy = remedy
        self.values = values
    }

    package var sentence: String {
        let limit = threshold.map { " (needs: \($0))" } ?? ""
        return "\(name): \(measured)\(limit). \(remedy)."
    }

    package var json: JSONValue {
        .object([
            .init("gate", .string(name)), .init("value", .string(measured)),
            .init("threshold", threshold.map { .string($0) } ?? .null), .init("opens", .string(remedy)),
            .init("values", values),
        ])
    }
}
