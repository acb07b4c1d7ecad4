package import Commands
package import NetworkControl

/// Puts the reasons of links into words. Pure.
package enum LinkText {
    /// A clause with the measure and the threshold: `goodput 1.9 Mbit/s is below 6.0 Mbit/s, where 12.0 Mbit/s
    /// was usual`.
    package static func clause(_ reason: LinkReason) -> String {
        (reason.uplink.map { "the uplink \($0): " } ?? "") + plainClause(reason)
    }

    /// The reason, and the change within the last minute.
    package static func clause(_ reason: LinkReason, _ change: LinkReason?) -> String {
        clause(reason) + (change.map { "; within the last minute \(clause($0))" } ?? "")
    }

    /// The condition that lifts a level or a wait, for “… when …” and “lifted by …”: `333 kbit/s for 3.0 s`.
    /// - Parameter link: the name of the link.
    package static func clause(_ remedy: LinkRemedy, of link: String) -> String {
        let time = remedy.duration.map { " for \(MeasureText.time($0))" } ?? ""
        let threshold = remedy.threshold ?? 0
        switch remedy.rule {
        case .override: return "sluice network set \(link) --level auto"
        case .probe: return "a probe that succeeds"
        case .contended: return "no high quality of service\(time)"
        case .hours: return "\(AllowedHours.text(minute(threshold))), local time"
        case .goodput where remedy.threshold != nil: return MeasureText.rate(threshold) + time
        case .stalled where remedy.threshold != nil:
            return "progress of all but less than \(MeasureText.percent(threshold))\(time)"
        case .errors where remedy.threshold != nil:
            return "fewer than \(MeasureText.percent(threshold)) of failures\(time)"
        case .roundTrip where remedy.threshold != nil, .queue where remedy.threshold != nil:
            return "less than \(MeasureText.time(seconds: threshold))\(time)"
        default: return "better measurements\(time)"
        }
    }

    /// Why a quality of service waits: `https://host:443 is poor: …; background has “preempt” there`.
    package static func clause(_ wait: LinkWaitReason<Timestamp>, of qos: QualityOfService) -> String {
        switch wait.reason.rule {
        case .recorded where wait.link.isEmpty: clause(wait.reason)
        case .circuitBreaker: "the circuit breaker of \(wait.link) is open"
        case .hours: "\(wait.link) \(clause(wait.reason))"
        case .contended:
            "\(wait.link) is \(wait.level.name) and full (\(clause(wait.reason))), and high quality of service has it; "
                + "\(consequence(wait, of: qos))"
        default:
            "\(wait.link) is \(wait.level.name): \(clause(wait.reason)); \(consequence(wait, of: qos))"
        }
    }

    /// The effect of a policy on commands: `utility commands wait (network.level: preempt)`.
    private static func consequence(_ wait: LinkWaitReason<Timestamp>, of qos: QualityOfService) -> String {
        let effect =
            switch wait.verb {
            case .run: "go on"
            case .throttle: "are slowed down"
            case .pause, .preempt: "wait"
            case .cancel: "are cancelled"
            }
        return "\(qos.name) commands \(effect) there (the policy is “\(wait.verb.name)”)"
    }

    private static func plainClause(_ reason: LinkReason) -> String {
        let measured = reason.measured ?? 0
        let threshold = reason.threshold ?? 0
        let subject = reason.subject ?? "?"
        switch reason.rule {
        case .unmeasured: return "nothing measured yet"
        case .goodput: return goodput(measured, threshold, usual: reason.usual)
        case .stalled:
            return "\(reason.count ?? 0) of \(reason.total ?? 0) transfers make no progress, "
                + "\(MeasureText.percent(threshold)) are too many"
        case .errors:
            return "\(MeasureText.percent(measured)) of transfers failed for the link, "
                + "\(MeasureText.percent(threshold)) are allowed"
        case .roundTrip:
            return "a round trip takes \(MeasureText.time(seconds: measured)), more than "
                + MeasureText.time(seconds: threshold)
        case .queue:
            return "bytes stand \(MeasureText.time(seconds: measured)) in queues, more than "
                + "\(MeasureText.time(seconds: threshold)), and goodput fell"
        case .slowServer:
            return "the server takes \(MeasureText.time(seconds: measured)) to its first byte; the round trip of "
                + "\(MeasureText.time(seconds: reason.usual ?? 0)) is fine"
        case .receiver: return receiver(reason.count ?? 0, of: reason.total)
        case .unloaded: return "\(MeasureText.rate(measured)), and there is room for more"
        case .fixed:
            let most = reason.count.map { "at most \($0) at a time" } ?? "as many at a time as the settings allow"
            return "\(most); the speed is not judged, because no network lies between, or the settings say so"
        case .override: return "set offline by a person"
        case .failures:
            return (reason.text ?? "commands fail")
                + (reason.count.map { " (\($0) commands, with no answer between)" } ?? "")
        case .silence:
            return "no byte was acknowledged for \(MeasureText.time(seconds: measured)) with transfers in flight"
        case .noDefaultRoute: return "there is no default route"
        case .noRoute: return "there is no route to \(subject)"
        case .blockedRoute: return "a route of kind \(reason.text ?? "unreachable") covers \(subject)"
        case .deadRoute: return "the route by \(subject) is dead"
        case .interfaceGone: return "the route's interface is gone"
        case .interfaceDown: return "the interface \(subject) is down"
        case .noCarrier: return "the interface \(subject) has no carrier"
        case .demand:
            return "transfers carry \(measured < reason.usual ?? 0 ? "fewer" : "more") bytes each \(before(reason))"
        case .loss: return "\(MeasureText.percent(reason.share ?? 0)) of the bytes are sent again \(before(reason))"
        case .maxRate: return "a rate that was set paces transfers \(before(reason))"
        case .hours:
            let hours = "\(AllowedHours.text(minute(threshold))) to \(AllowedHours.text(minute(reason.usual ?? 0)))"
            return "takes background from \(hours) only, and it is \(AllowedHours.text(minute(measured)))"
        case .contended:
            return MeasureText.rate(measured)
                + (reason.usual.map { " of \(MeasureText.rate($0)); four fifths are full" } ?? "")
        case .circuitBreaker: return "the circuit breaker is open"
        case .probe: return "a probe is awaited"
        case .recorded: return reason.text ?? "unknown"
        }
    }

    private static func goodput(_ measured: Double, _ threshold: Double, usual: Double?) -> String {
        let (rate, limit) = (MeasureText.rate(measured), MeasureText.rate(threshold))
        guard measured < threshold else { return "goodput \(rate), at least \(limit) is good" }
        return "goodput \(rate) is below \(limit)" + (usual.map { ", where \(MeasureText.rate($0)) was usual" } ?? "")
    }

    private static func receiver(_ count: Int, of total: Int?) -> String {
        let isOne = count == 1 && total == nil
        let transfers = total.map { "\(count) of \($0) transfers" } ?? "\(count) transfer\(isOne ? "" : "s")"
        return "the receiver pauses \(transfers): \(isOne ? "its TCP window is" : "their TCP windows are") closed"
    }

    /// `(1.9 Mbit/s, and 4.0 Mbit/s before)`
    private static func before(_ reason: LinkReason) -> String {
        "(\(MeasureText.rate(reason.measured ?? 0)), and \(MeasureText.rate(reason.usual ?? 0)) before)"
    }

    /// A minute of the day; a stored value may be damaged.
    private static func minute(_ value: Double) -> Int { Int(min(MeasureText.whole(value), 1440)) }
}

/// Destinations in sentences for people.
package enum DestinationText {
    /// A destination without the port that its scheme implies.
    package static func name(_ destination: Destination) -> String {
        var text = destination.text
        for (scheme, port) in [("https://", ":443"), ("http://", ":80")] where text.hasPrefix(scheme) {
            text = String(text.dropFirst(scheme == "https://" ? scheme.count : 0))
            if text.hasSuffix(port) { text = String(text.dropLast(port.count)) }
        }
        return text.hasPrefix("file://") ? "this machine" : text
    }

    /// A clause about a destination, behind its name. Many clauses begin with the destination: it is not said twice.
    package static func sentence(_ clause: String, of destination: Destination) -> String {
        let isNamed = destination != .none && clause.hasPrefix("\(destination.text) ")
        let name = destination == .none ? "Commands without a destination" : name(destination)
        return isNamed ? name + clause.dropFirst(destination.text.count) : "\(name): \(clause)"
    }
}

/// Formats measures for sentences.
enum MeasureText {
    /// Bytes per second as `1.9 Mbit/s`.
    static func rate(_ bytes: Double) -> String {
        let bits = bytes * 8
        return bits < 999_500 ? "\(whole(bits / 1000)) kbit/s" : "\(tenths(bits / 1e6)) Mbit/s"
    }

    /// A time as `350 ms` or `3.2 s`.
    static func time(_ time: Duration) -> String { Self.time(seconds: time.seconds) }

    static func time(seconds: Double) -> String {
        seconds < 0.9995 ? "\(whole(seconds * 1000)) ms" : "\(tenths(seconds)) s"
    }

    static func percent(_ share: Double) -> String { "\(whole(share * 100)) %" }

    private static func tenths(_ value: Double) -> String {
        let tenths = whole(value * 10)
        return tenths >= 1000 ? "\((tenths + 5) / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    /// A stored value may be damaged: at least 0, at most 1e15, and 0 for no number.
    static func whole(_ value: Double) -> Int64 { value > 0 ? Int64(min(value, 1e15).rounded()) : 0 }
}
