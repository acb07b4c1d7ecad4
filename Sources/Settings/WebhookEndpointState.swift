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

extension WebhookEndpointState {
    /// Why and since when messages to the endpoint, or to URLs of it, wait; nil where none does.
    /// - Parameter name: of the endpoint in sluice.yaml.
    package func reason(_ name: String) -> String? {
        guard let pause else { return gone.last.map { reason(name, $0, more: gone.count - 1) } }
        let why =
            switch pause.cause {
            case .gone: ": its receiver answered 410 (gone)"
            case .failing: ": its receiver has accepted no message for 3 days, after \(failures) attempts"
            case .person: " by a person"
            }
        return "the webhook endpoint “\(name)” is paused since \(pause.since)\(why)"
    }

    /// Why messages to one URL wait.
    package func reason(_ name: String, _ gone: Gone, more: Int = 0) -> String {
        "the webhook endpoint “\(name)” sends nothing to \(gone.url) since \(gone.since): its receiver answered 410 (gone)"
            + (more > 0 ? ", as at \(more) more \(more == 1 ? "URL" : "URLs")" : "")
    }

    /// The command line that lets its messages go on.
    package static func remedy(_ name: String) -> String { "sluice webhook resume \(name)" }

    /// `{"failures": 12, "failing": 86400000, "first": 1762900000000, "last": 1763000000000,
    /// "success": 1762800000000, "gone": [["https://h.example/a", "c0ffee", 1763000000000]]}`, and `"paused": "failing"` with `"since": 1763000000000` while it is paused.
    /// Times are Unix milliseconds, `failing` is milliseconds.
    package var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("failures", .integer(Int64(failures))), .init("failing", .integer(failing.milliseconds)),
        ]
        let times = [("first", firstFailure), ("last", lastFailure), ("success", lastSuccess)]
        for case (let name, let time?) in times { members.append(.init(name, .integer(time.milliseconds))) }
        if let pause {
            members += [
                .init("paused", .string(pause.cause.rawValue)), .init("since", .integer(pause.since.milliseconds)),
            ]
        }
        if !gone.isEmpty {
            let urls = gone.map { gone in
                JSONValue.array([
                    .string(gone.url), .string(String(gone.hash, radix: 16)), .integer(gone.since.milliseconds),
                ])
            }
            members.append(.init("gone", .array(urls)))
        }
        return members
    }

    private static func gone(_ value: JSONValue) -> Gone? {
        guard let parts = value.elements, parts.count == 3, let url = parts[0].string,
            let hash = parts[1].string.flatMap({ UInt64($0, radix: 16) }), let since = parts[2].integer
        else { return nil }
        return Gone(url: url, hash: hash, since: Timestamp(milliseconds: since))
    }

    /// - Returns: nil for a value of another form. Then the endpoint counts as active.
    package init?(_ value: JSONValue) {
        guard let failures = value["failures"]?.integer, (0...1_000_000).contains(failures),
            let failing = value["failing"]?.integer, failing >= 0
        else { return nil }
        var pause: Pause?
        if let name = value["paused"]?.string {
            guard let cause = Cause(rawValue: name), let since = value["since"]?.integer else { return nil }
            pause = Pause(cause: cause, since: Timestamp(milliseconds: since))
        }
        func time(_ name: String) -> Timestamp? { value[name]?.integer.map(Timestamp.init(milliseconds:)) }
        self.init(
            pause: pause, gone: value["gone"]?.elements?.compactMap(Self.gone) ?? [], failures: Int(failures),
            failing: .milliseconds(failing), firstFailure: time("first"),
            lastFailure: time("last"), lastSuccess: time("success"))
    }
}

/// An endpoint as the setting `webhook.<name>` has it: its origin, and how its receiver has answered.
package struct WebhookEndpointSetting: Sendable, Equatable {
    package let name: String
    package var origin: Destination
    package var state: WebhookEndpointState

    package init(name: String, origin: Destination, state: WebhookEndpointState = WebhookEndpointState()) {
        self.name = name
        self.origin = origin
        self.state = state
    }

    /// - Returns: nil for a value of another form. Then the endpoint counts as active.
    package init?(name: String, value: String?) {
        guard let value, let json = try? JSONValue(parsing: Array(value.utf8)),
            let origin = json["origin"]?.string.flatMap({ Destination($0) }), let state = WebhookEndpointState(json)
        else { return nil }
        self.init(name: name, origin: origin, state: state)
    }

    /// The endpoints among settings, by name.
    package static func parse(_ settings: [String: String]) -> [WebhookEndpointSetting] {
        settings.compactMap { key, value in
            guard key.hasPrefix(SettingKey.webhookPrefix) else { return nil }
            return WebhookEndpointSetting(name: String(key.dropFirst(SettingKey.webhookPrefix.count)), value: value)
        }.sorted { $0.name < $1.name }
    }

    package static func key(_ name: String) -> String { "\(SettingKey.webhookPrefix)\(name)" }

    package var value: String {
        JSONValue.object([.init("origin", .string(origin.text))] + state.members).text
    }

    /// Whether a message that names an endpoint, or none, goes to this one.
    package func receives(endpoint: String?, to destination: Destination) -> Bool {
        endpoint.map { $0 == name } ?? (origin == destination)
    }
}
