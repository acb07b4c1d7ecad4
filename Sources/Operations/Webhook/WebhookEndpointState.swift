internal import Commands

/// Whether messages go to an endpoint, decided by how its receiver has answered. Pure.
///
/// ```
///            failure, 3 days of nothing else; 410
///   active ───────────────────────────────────────► paused
///     ▲  ▲ success: the count starts over              │
///     │  └──                                           │
///     └────────────── sluice webhook resume ───────────┘
/// ```
///
/// Failures of the link do not count: the receiver has not been asked. The wall clock may jump, so time
/// between two failures counts for at most the longest wait between two attempts.
struct WebhookEndpointState: Sendable, Equatable {
    enum Cause: String, Sendable, CaseIterable {
        /// 410
        case gone
        /// ``WebhookEndpointState/maxFailing`` without a success.
        case failing
    }

    struct Pause: Sendable, Equatable {
        var cause: Cause
        var since: Timestamp
    }

    /// The consequence of an event.
    enum Action: Sendable, Equatable {
        case none
        /// Store the state and publish the event `endpoint/<name>`.
        case report(Pause)
        /// Store the state and publish that messages go out again.
        case resume
    }

    /// The time of nothing but failures after which the endpoint is paused.
    static let maxFailing: Duration = .seconds(3 * 86_400)
    /// The maximum that the time between two failures counts: the longest wait of ``WebhookRetryTable``.
    static let maxGap: Duration = .seconds(30 * 3600)
    /// The minimum number of failures of a pause.
    static let minFailures = 4

    private(set) var pause: Pause?
    /// Failures since the last success; at most 1,000,000.
    private(set) var failures: Int
    /// The time of failures so far, in which no gap counts more than ``maxGap``.
    private(set) var failing: Duration
    private(set) var lastFailure: Timestamp?

    init(
        pause: Pause? = nil, failures: Int = 0, failing: Duration = .zero, lastFailure: Timestamp? = nil
    ) {
        self.pause = pause
        self.failures = failures
        self.failing = failing
        self.lastFailure = lastFailure
    }

    /// Whether messages may be sent.
    var isActive: Bool { pause == nil }

    /// The receiver has accepted a message.
    mutating func succeeded() {
        failures = 0
        failing = .zero
        lastFailure = nil
    }

    /// An attempt has failed.
    /// - Parameters:
    ///   - fault: of the failure. ``CommandFailure/Fault/link`` does not count.
    ///   - status: of the response; nil where none came.
    mutating func failed(_ fault: CommandFailure.Fault, status: Int?, now: Timestamp) -> Action {
        switch fault {
        case .link, .reset: return .none
        case .command, .final, .credential, .destination: break
        }
        failures = min(failures + 1, 1_000_000)
        if let last = lastFailure { failing = failing + min(max(now - last, .zero), Self.maxGap) }
        lastFailure = now
        guard isActive else { return .none }
        if status == 410 { return paused(.gone, now) }
        guard failing >= Self.maxFailing, failures >= Self.minFailures else { return .none }
        return paused(.failing, now)
    }

    /// A person resumes the endpoint.
    mutating func resumed() -> Action {
        guard !isActive else { return .none }
        self = WebhookEndpointState()
        return .resume
    }

    private mutating func paused(_ cause: Cause, _ now: Timestamp) -> Action {
        let pause = Pause(cause: cause, since: now)
        self.pause = pause
        return .report(pause)
    }
}
