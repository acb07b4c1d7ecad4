package import Commands

/// Whether messages go to an endpoint, decided by how its receiver has answered. Pure.
///
/// ```
///            failure, 3 days of nothing else; 410; sluice webhook pause
///   active ──────────────────────────────────────────────────────────► paused
///     ▲  ▲ success: the count starts over                                 │
///     │  └──                                                              │
///     └────────────────────── sluice webhook resume ──────────────────────┘
/// ```
///
/// Failures of the link do not count: the receiver has not been asked. The wall clock may jump, so time
/// between two failures counts for at most the longest wait between two attempts.
package struct WebhookEndpointState: Sendable, Equatable {
    package enum Cause: String, Sendable, CaseIterable {
        /// 410
        case gone
        /// ``WebhookEndpointState/maxFailing`` without a success.
        case failing
        /// `sluice webhook pause`
        case person
    }

    package struct Pause: Sendable, Equatable {
        package var cause: Cause
        package var since: Timestamp
    }

    /// The consequence of an event.
    package enum Action: Sendable, Equatable {
        case none
        /// Store the state and report the pause.
        case report(Pause)
        /// Store the state and end the waits of messages.
        case resume
    }

    /// The time of nothing but failures after which the endpoint is paused.
    static let maxFailing: Duration = .seconds(3 * 86_400)
    /// The maximum that the time between two failures counts: the longest wait of ``WebhookRetryTable``.
    static let maxGap: Duration = .seconds(30 * 3600)
    /// The minimum number of failures of a pause.
    static let minFailures = 4

    package private(set) var pause: Pause?
    /// Failures since the last success; at most 1,000,000.
    package private(set) var failures: Int
    /// The time of failures so far, in which no gap counts more than ``maxGap``.
    private(set) var failing: Duration
    /// The first failure since the last success.
    package private(set) var firstFailure: Timestamp?
    private(set) var lastFailure: Timestamp?
    package private(set) var lastSuccess: Timestamp?

    init(
        pause: Pause? = nil, failures: Int = 0, failing: Duration = .zero, firstFailure: Timestamp? = nil,
        lastFailure: Timestamp? = nil, lastSuccess: Timestamp? = nil
    ) {
        self.pause = pause
        self.failures = failures
        self.failing = failing
        self.firstFailure = firstFailure
        self.lastFailure = lastFailure
        self.lastSuccess = lastSuccess
    }

    package init() { self.init(pause: nil) }

    /// Whether messages may be sent.
    package var isActive: Bool { pause == nil }

    /// The receiver has accepted a message.
    mutating func succeeded(now: Timestamp) { self = WebhookEndpointState(pause: pause, lastSuccess: now) }

    /// Attempts have failed.
    /// - Parameters:
    ///   - fault: of the newest failure. ``CommandFailure/Fault/link`` does not count.
    ///   - status: of its response; nil where none came.
    ///   - count: the failures since the last call.
    mutating func failed(_ fault: CommandFailure.Fault, status: Int?, count: Int = 1, now: Timestamp) -> Action {
        guard Self.counts(fault) else { return .none }
        failures = min(failures + max(count, 1), 1_000_000)
        if let last = lastFailure { failing = failing + min(max(now - last, .zero), Self.maxGap) }
        firstFailure = firstFailure ?? now
        lastFailure = now
        guard isActive else { return .none }
        if status == 410 { return paused(.gone, now) }
        guard failing >= Self.maxFailing, failures >= Self.minFailures else { return .none }
        return paused(.failing, now)
    }

    /// Whether a failure is the receiver's.
    static func counts(_ fault: CommandFailure.Fault) -> Bool {
        switch fault {
        case .link, .reset: false
        case .command, .final, .credential, .destination: true
        }
    }

    /// A person resumes the endpoint.
    package mutating func resumed() -> Action {
        guard !isActive else { return .none }
        self = WebhookEndpointState(lastSuccess: lastSuccess)
        return .resume
    }

    /// A person pauses the endpoint.
    package mutating func pausedByPerson(now: Timestamp) -> Action { isActive ? paused(.person, now) : .none }

    private mutating func paused(_ cause: Cause, _ now: Timestamp) -> Action {
        let pause = Pause(cause: cause, since: now)
        self.pause = pause
        return .report(pause)
    }
}
