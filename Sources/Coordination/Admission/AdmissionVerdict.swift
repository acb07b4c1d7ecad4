internal import Commands

extension Admission {
    /// The slot that a command takes when it starts.
    package enum Slot: Sendable, Equatable {
        /// One of the slots of its class.
        case ordinary
        /// One beyond all ordinary slots of its worker: for a destination that holds none, and for the floor.
        case extra
    }

    package enum Verdict: Sendable, Equatable {
        case admitted(Slot)
        case waits(Wait)
    }

    /// Why a command may not start.
    package struct Wait: Sendable, Equatable {
        package var rule: Rule
        /// The value now, and the limit that it must be below; nil where the rule counts nothing.
        package var measured: Int?
        package var limit: Int?

        package init(_ rule: Rule, _ measured: Int? = nil, of limit: Int? = nil) {
            self.rule = rule
            self.measured = measured
            self.limit = limit
        }
    }

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
    }
}
