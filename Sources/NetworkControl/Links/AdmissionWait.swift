package import Commands

/// The rule of admission that keeps a command from starting, with its value.
package struct AdmissionWait: Sendable, Equatable {
    /// The rules, in the order in which they are applied.
    package enum Rule: String, Sendable, CaseIterable {
        /// A person has paused the quality of service, or the destination.
        case pause
        /// A person holds the destination offline.
        case heldOffline
        /// The destination takes this quality of service in certain hours only.
        case hours
        /// The link is offline, and no probe is due.
        case offline
        /// The circuit breaker of the destination is open.
        case circuitBreaker
        /// At this level of the link, no command of this quality of service may start.
        case level
        /// A person's `maxConcurrency`.
        case maxConcurrency
        /// The server takes no more at once (429, 503).
        case pushback
        /// The server has refused no command yet, and has not shown that it takes more at once.
        case slowStart
        /// The controller's limit of the link.
        case linkLimit
        /// The limit that all links of an uplink share.
        case uplinkLimit
        /// The destinations that fail are already tried as often as the budget allows, together.
        case probes
        /// The destinations that have never answered already hold as many slots as they may, together.
        case untried
        /// The destination holds three quarters of all slots, and others have ready work.
        case fairShare
        /// All slots of the workers are taken.
        case slots
        /// A person's `network.maxTransfers`.
        case maxTransfers
        /// A person's `starts` of the destination: there is no token.
        case starts
    }

    package var rule: Rule
    /// The value now, and the limit that it must be below; nil where the rule counts nothing.
    package var measured: Int?
    package var limit: Int?

    package init(_ rule: Rule, _ measured: Int? = nil, of limit: Int? = nil) {
        self.rule = rule
        self.measured = measured
        self.limit = limit
    }

    /// `{"rule":"fairShare","measured":24,"limit":24}`; null for what is not counted.
    package var json: JSONValue {
        func number(_ value: Int?) -> JSONValue { value.map { .integer(Int64($0)) } ?? .null }
        return .object([
            .init("rule", .string(rule.rawValue)), .init("measured", number(measured)), .init("limit", number(limit)),
        ])
    }

    /// Reads ``json`` back; nil for a value without a rule that this version knows.
    init?(_ value: JSONValue) {
        guard let rule = value["rule"]?.string.flatMap({ Rule(rawValue: $0) }) else { return nil }
        self.init(
            rule, value["measured"]?.wholeNumber.flatMap { Int(exactly: $0) },
            of: value["limit"]?.wholeNumber.flatMap { Int(exactly: $0) })
    }
}
