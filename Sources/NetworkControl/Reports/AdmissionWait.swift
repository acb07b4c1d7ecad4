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
    /// The value that ends the wait where `limit` does not: for ``Rule/pushback`` with the limit 0 the seconds without a refusal,
    /// for ``Rule/probes`` the attempts a second. Nil for other rules, and from a coordinator that does not publish it.
    package var threshold: Double?

    package init(_ rule: Rule, _ measured: Int? = nil, of limit: Int? = nil, threshold: Double? = nil) {
        self.rule = rule
        self.measured = measured
        self.limit = limit
        self.threshold = threshold
    }

    /// `{"rule":"fairShare","measured":24,"limit":24}`; null for what is not counted.
    package var json: JSONValue {
        func number(_ value: Int?) -> JSONValue { value.map { .integer(Int64($0)) } ?? .null }
        return .object(
            [.init("rule", .string(rule.rawValue)), .init("measured", number(measured)), .init("limit", number(limit))]
                + (threshold.map { [.init("threshold", .figure($0))] } ?? []))
    }

    /// Reads ``json`` back; nil for a value without a rule that this version knows.
    init?(_ value: JSONValue) {
        guard let rule = value["rule"]?.string.flatMap({ Rule(rawValue: $0) }) else { return nil }
        self.init(
            rule, value["measured"]?.wholeNumber.flatMap { Int(exactly: $0) },
            of: value["limit"]?.wholeNumber.flatMap { Int(exactly: $0) },
            threshold: value["threshold"]?.double.flatMap { (0...1e9).contains($0) ? $0 : nil })
    }
}

/// How long a command that a failure of its link has released waits before it is offered again: ``first``, twice as long after
/// each further failure, up to ``limit``; with its jitter at most ``longest``.
package struct LinkFailureWait: Sendable, Equatable {
    package var first: Duration
    package var limit: Duration
    package var longest: Duration

    package init(first: Duration, limit: Duration, longest: Duration) {
        self.first = first
        self.limit = limit
        self.longest = longest
    }

    /// Of the coordinators that do not publish theirs: all of them have this one.
    package static let unpublished = LinkFailureWait(first: .seconds(1), limit: .seconds(60), longest: .seconds(75))

    /// `{"first":1,"limit":60,"longest":75}`, in seconds.
    package var json: JSONValue {
        .object([
            .init("first", .figure(first.seconds)), .init("limit", .figure(limit.seconds)),
            .init("longest", .figure(longest.seconds)),
        ])
    }

    /// Reads ``json`` back; nil for any other value.
    init?(_ value: JSONValue) {
        func seconds(_ name: String) -> Duration? {
            value[name]?.double.flatMap { (0...1e9).contains($0) ? .seconds($0) : nil }
        }
        guard let first = seconds("first"), let limit = seconds("limit"), let longest = seconds("longest") else {
            return nil
        }
        self.init(first: first, limit: limit, longest: longest)
    }
}
