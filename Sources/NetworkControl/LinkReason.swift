package import Commands

/// Why a link has its level, or holds commands back: a rule, with what was measured and the threshold. In
/// events, settings and `--json` it is an object with these members; `LinkText` of Console puts it into
/// words.
package struct LinkReason: Sendable, Hashable {
    /// Units: rates in bytes per second, times in seconds, shares from 0 to 1, times of day in minutes after
    /// midnight.
    package enum Rule: String, Sendable, CaseIterable {
        // MARK: Levels by measurement

        /// Nothing is measured yet.
        case unmeasured
        /// A rate. `usual` is what the same number of transfers carried; nil where the threshold is fixed.
        case goodput
        /// `count` of `total` transfers make no progress. The threshold is a share.
        case stalled
        /// A share of the executions failed for the link.
        case errors
        /// The round trip, where no transfer shows a goodput.
        case roundTrip
        /// The time that bytes stand in queues, where the goodput has fallen too.
        case queue
        /// The time to the first byte is long, and the round trip, `usual`, is not: the server is slow.
        case slowServer
        /// The receivers of `count` transfers (of `total`) have closed their TCP windows.
        case receiver
        /// The rate of an uplink without a queue.
        case unloaded
        /// The number of transfers is fixed, whatever the goodput.
        case fixed

        // MARK: Offline

        /// A person has set the link offline.
        case override
        /// Commands fail one after another; `text` is what the last one reported, `count` their number.
        case failures
        /// Nothing was acknowledged for a time with transfers in flight.
        case silence
        case noDefaultRoute
        /// No route leads to the address `subject`.
        case noRoute
        /// A route of the kind `text` (unreachable, blackhole, prohibit) covers the address `subject`.
        case blockedRoute
        /// The route by the interface `subject` is dead.
        case deadRoute
        /// The interface of the route is gone.
        case interfaceGone
        /// The interface `subject` is down, or has no carrier.
        case interfaceDown
        case noCarrier

        // MARK: Changes of what a link carries

        /// Transfers carry fewer or more bytes each. Rates; `usual` is the one before.
        case demand
        /// Packets are lost without a queue: `share` of the bytes. Rates as for `demand`.
        case loss
        /// A rate that was set paces transfers.
        case maxRate

        // MARK: Waits

        /// Outside the hours of `background`, which begin at `threshold` and end at `usual`. Times of day.
        case hours
        /// High quality has the link, which is full: a rate at `threshold`, or above it.
        case contended
        /// The circuit breaker of the destination is open.
        case circuitBreaker
        /// A probe must succeed.
        case probe
        /// Only `text` is known, the sentence of a version that stored no rule.
        case recorded
    }

    package var rule: Rule
    package var measured: Double?
    package var threshold: Double?
    package var usual: Double?
    package var share: Double?
    package var count: Int?
    package var total: Int?
    /// The address or the interface that a rule about routes means.
    package var subject: String?
    /// The words of a failed command, or of another version. No rule depends on them.
    package var text: String?
    /// The name of the uplink that the reason belongs to; nil: it is the link's own.
    package var uplink: String?

    package init(_ rule: Rule, measured: Double? = nil, threshold: Double? = nil, usual: Double? = nil) {
        self.rule = rule
        self.measured = measured
        self.threshold = threshold
        self.usual = usual
    }
}

extension LinkReason {
    package static func goodput(measured: Double, threshold: Double, usual: Double?) -> Self {
        Self(.goodput, measured: measured, threshold: threshold, usual: usual)
    }

    /// - Parameter threshold: a share of all transfers.
    package static func stalled(count: Int, of total: Int, threshold: Double) -> Self {
        var reason = Self(.stalled, threshold: threshold)
        (reason.count, reason.total) = (count, total)
        return reason
    }

    package static func errors(share: Double, threshold: Double) -> Self {
        Self(.errors, measured: share, threshold: threshold)
    }

    package static func roundTrip(measured: Duration, threshold: Duration) -> Self {
        Self(.roundTrip, measured: measured.seconds, threshold: threshold.seconds)
    }

    package static func queue(measured: Duration, threshold: Duration) -> Self {
        Self(.queue, measured: measured.seconds, threshold: threshold.seconds)
    }

    package static func slowServer(timeToFirstByte: Duration, srtt: Duration) -> Self {
        Self(.slowServer, measured: timeToFirstByte.seconds, usual: srtt.seconds)
    }

    package static func receiver(count: Int, of total: Int? = nil) -> Self {
        var reason = Self(.receiver)
        (reason.count, reason.total) = (count, total)
        return reason
    }

    package static func silence(_ time: Duration) -> Self { Self(.silence, measured: time.seconds) }

    /// - Parameters:
    ///   - text: what the last command reported.
    ///   - count: nil while the link is offline already.
    package static func failures(_ text: String, count: Int? = nil) -> Self {
        var reason = Self(.failures)
        (reason.text, reason.count) = (text, count)
        return reason
    }

    package static func route(_ rule: Rule, _ subject: String? = nil, kind: String? = nil) -> Self {
        var reason = Self(rule)
        (reason.subject, reason.text) = (subject, kind)
        return reason
    }

    package static func recorded(_ text: String) -> Self {
        var reason = Self(.recorded)
        reason.text = text
        return reason
    }

    /// The members that the rule has.
    package var json: JSONValue {
        var members: [JSONValue.Member] = [.init("rule", .string(rule.rawValue))]
        for (name, value) in [("measured", measured), ("threshold", threshold), ("usual", usual), ("share", share)] {
            if let value { members.append(.init(name, .figure(value))) }
        }
        for (name, value) in [("count", count), ("total", total)] {
            if let value { members.append(.init(name, .integer(Int64(value)))) }
        }
        for (name, value) in [("subject", subject), ("text", text), ("uplink", uplink)] {
            if let value { members.append(.init(name, .string(value))) }
        }
        return .object(members)
    }

    /// Reads ``json`` back, and the sentence of version 0.1.0. Nil for any other value; a rule of a later
    /// version becomes ``Rule/recorded`` with its name.
    package init?(_ value: JSONValue) {
        if let sentence = value.string {
            self = .recorded(sentence)
            return
        }
        guard let name = value["rule"]?.string else { return nil }
        guard let rule = Rule(rawValue: name) else {
            self = .recorded(value["text"]?.string ?? name)
            return
        }
        self.init(
            rule, measured: value["measured"]?.double, threshold: value["threshold"]?.double,
            usual: value["usual"]?.double)
        share = value["share"]?.double
        count = value["count"]?.integer.flatMap { Int(exactly: $0) }
        total = value["total"]?.integer.flatMap { Int(exactly: $0) }
        subject = value["subject"]?.string
        text = value["text"]?.string
        uplink = value["uplink"]?.string
    }
}

extension JSONValue {
    /// A measured value: whole from 100 on, with four decimals below. Null where it is infinite.
    static func figure(_ value: Double) -> JSONValue {
        guard value.isFinite else { return .null }
        if value.magnitude >= 100 { return .integer(Int64(min(max(value, -9e18), 9e18).rounded())) }
        let rounded = (value * 10_000).rounded() / 10_000
        return rounded == rounded.rounded() ? .integer(Int64(rounded)) : .number(rounded)
    }
}

/// The condition that lifts a level or a wait: the measure of a rule is better than a threshold for a time.
package struct LinkRemedy: Sendable, Equatable {
    package var rule: LinkReason.Rule
    /// In the unit of the rule; nil: any better value, or an event such as a probe that succeeds.
    package var threshold: Double?
    /// How long it must hold; nil: it lifts at once.
    package var duration: Duration?

    package init(_ rule: LinkReason.Rule, threshold: Double? = nil, for duration: Duration? = nil) {
        self.rule = rule
        self.threshold = threshold
        self.duration = duration
    }

    /// `{"rule":"goodput","threshold":325000,"seconds":3}`, without the members that are nil.
    package var json: JSONValue {
        .object(
            [.init("rule", .string(rule.rawValue))]
                + (threshold.map { [.init("threshold", .figure($0))] } ?? [])
                + (duration.map { [.init("seconds", .figure($0.seconds))] } ?? []))
    }

    /// Reads ``json`` back; nil for any other value, such as the sentence of version 0.1.0, and for a rule of
    /// a later version.
    package init?(_ value: JSONValue) {
        guard let rule = value["rule"]?.string.flatMap({ LinkReason.Rule(rawValue: $0) }) else { return nil }
        self.init(
            rule, threshold: value["threshold"]?.double,
            for: value["seconds"]?.double.flatMap { (0...1e9).contains($0) ? .seconds($0) : nil })
    }
}

/// A value in a box of its own, so that a copy of what holds it copies one reference. For values that are
/// large and change seldom, within types that are copied often.
@propertyWrapper package indirect enum Indirect<Value: Sendable>: Sendable {
    case box(Value)

    package init(wrappedValue: Value) { self = .box(wrappedValue) }

    package var wrappedValue: Value {
        get {
            switch self {
            case .box(let value): value
            }
        }
        set { self = .box(newValue) }
    }
}

extension Indirect: Equatable where Value: Equatable {}
