package import Commands

/// Whether messages go to an endpoint, decided by how its receiver has answered. Pure.
///
/// ```
///            failure, 3 days of nothing else; sluice webhook pause
///   active ──────────────────────────────────────────────────────────► paused
///     ▲  ▲ success: the count starts over                                 │
///     │  └──                                                              │
///     └────────────────────── sluice webhook resume ──────────────────────┘
/// ```
///
/// A 410 says that one URL is gone (RFC 9110, section 15.5.11), not the endpoint: only messages to that URL wait, until
/// the endpoint is resumed.
///
/// Failures of the link do not count: the receiver has not been asked. The wall clock may jump, so time
/// between two failures counts for at most the longest wait between two attempts.
package struct WebhookEndpointState: Sendable, Equatable {
    package enum Cause: String, Sendable, CaseIterable {
        /// 410 at one URL. In states of earlier versions, the pause of an endpoint.
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

    /// A URL whose receiver has answered 410.
    package struct Gone: Sendable, Equatable {
        /// Without the values of its query.
        package var url: String
        /// ``StableHash`` of the whole URL.
        package var hash: UInt64
        package var since: Timestamp
    }

    /// URLs that are kept; the oldest makes room. A message to one that was dropped brings the next 410.
    package static let maxGone = 100

    /// The consequence of an event.
    package enum Action: Sendable, Equatable {
        case none
        /// Store the state and report the pause.
        case report(Pause)
        /// Store the state and end the waits of messages.
        case resume
    }

    /// The time of nothing but failures after which the endpoint is paused.
    package static let maxFailing: Duration = .seconds(3 * 86_400)
    /// The maximum that the time between two failures counts: the longest wait of ``WebhookRetryTable``.
    package static let maxGap: Duration = .seconds(30 * 3600)
    /// The minimum number of failures of a pause.
    package static let minFailures = 4

    package private(set) var pause: Pause?
    /// In the order of their answers.
    package private(set) var gone: [Gone]
    /// Failures since the last success; at most 1,000,000.
    package private(set) var failures: Int
    /// The time of failures so far, in which no gap counts more than ``maxGap``.
    private(set) var failing: Duration
    /// The first failure since the last success.
    package private(set) var firstFailure: Timestamp?
    private(set) var lastFailure: Timestamp?
    package private(set) var lastSuccess: Timestamp?

    package init(
        pause: Pause? = nil, gone: [Gone] = [], failures: Int = 0, failing: Duration = .zero,
        firstFailure: Timestamp? = nil,
        lastFailure: Timestamp? = nil, lastSuccess: Timestamp? = nil
    ) {
        self.pause = pause
        self.gone = gone
        self.failures = failures
        self.failing = failing
        self.firstFailure = firstFailure
        self.lastFailure = lastFailure
        self.lastSuccess = lastSuccess
    }

    package init() { self.init(pause: nil) }

    /// Whether messages may be sent.
    package var isActive: Bool { pause == nil }

    /// Whether a message may be sent to a URL.
    package func permits(_ url: String) -> Bool { isActive && gone(url) == nil }

    /// The answer 410 of a URL.
    package func gone(_ url: String) -> Gone? {
        guard !gone.isEmpty else { return nil }
        let hash = StableHash.of(url.utf8)
        return gone.first { $0.hash == hash }
    }

    /// The receiver of a URL has answered 410.
    /// - Parameter shown: the URL without the values of its query.
    package mutating func answeredGone(_ url: String, shown: String, now: Timestamp) -> Action {
        guard gone(url) == nil else { return .none }
        gone.append(Gone(url: shown, hash: StableHash.of(url.utf8), since: now))
        gone.removeFirst(max(gone.count - Self.maxGone, 0))
        return .report(Pause(cause: .gone, since: now))
    }

    /// The receiver has accepted a message.
    package mutating func succeeded(now: Timestamp) {
        self = WebhookEndpointState(pause: pause, gone: gone, lastSuccess: now)
    }

    /// Attempts have failed.
    /// - Parameters:
    ///   - fault: of the newest failure. ``CommandFailure/Fault/link`` does not count.
    ///   - count: the failures since the last call.
    package mutating func failed(_ fault: CommandFailure.Fault, count: Int = 1, now: Timestamp) -> Action {
        guard Self.counts(fault) else { return .none }
        failures = min(failures + max(count, 1), 1_000_000)
        if let last = lastFailure { failing = failing + min(max(now - last, .zero), Self.maxGap) }
        firstFailure = firstFailure ?? now
        lastFailure = now
        guard isActive else { return .none }
        guard failing >= Self.maxFailing, failures >= Self.minFailures else { return .none }
        return paused(.failing, now)
    }

    /// Whether a failure is the receiver's.
    package static func counts(_ fault: CommandFailure.Fault) -> Bool {
        switch fault {
        case .link, .reset: false
        case .command, .final, .credential, .destination: true
        }
    }

    /// A person resumes the endpoint.
    package mutating func resumed() -> Action {
        guard !isActive || !gone.isEmpty else { return .none }
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
