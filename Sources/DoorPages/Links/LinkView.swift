internal import Commands
internal import Console
internal import DoorLive
internal import NetworkControl

/// The parts of a link that the overview and the page of links share.
enum LinkView {
    static func page(_ link: LinkReport) -> PageLink {
        PageLink("links", link.direction.rawValue, part(link.destination))
    }

    /// The name of a link as one part of a path: `https:host:443`, because a part has no slash.
    static func part(_ name: String) -> String { name.split(separator: "//", maxSplits: 1).joined() }

    /// Reads ``part(_:)`` back.
    static func name(part: String) -> String {
        let pair = part.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return part.hasPrefix("*") || pair.count != 2 ? part : "\(pair[0])://\(pair[1])"
    }

    static func key(_ link: LinkReport) -> String { "link-\(link.direction.rawValue)-\(link.destination)" }

    /// The destination without the port that its scheme implies, and the direction where it is down.
    static func name(_ link: LinkReport) -> String {
        let name =
            link.destination == "*"
            ? "this host's uplink" : RowParts.destination(Destination(unchecked: link.destination))
        return link.direction == .down ? "\(name) (down)" : name
    }

    static func level(_ link: LinkReport, key: String) -> HTML {
        let (glyph, tone) = mark(link)
        let word = link.circuitBreaker != nil ? "no answer" : link.level.name
        return RowParts.state(word, glyph: glyph, tone: tone, key: key)
    }

    private static func mark(_ link: LinkReport) -> (String, String) {
        if link.circuitBreaker != nil { return ("✕", "bad") }
        return switch link.level {
        case .good: ("▲", "ok")
        case .unknown: ("△", "dim")
        case .degraded: ("◆", "warn")
        case .poor: ("▼", "warn")
        case .offline: ("✕", "bad")
        }
    }

    /// Transfers in flight of the limit.
    static func slots(_ link: LinkReport) -> String {
        let all = max(link.inFlight ?? 0, 0) + max(link.highInFlight ?? 0, 0)
        return link.limit.map { "\(all)/\($0)" } ?? "\(all)"
    }

    /// Why it is not better; empty for a good link.
    static func sentence(_ link: LinkReport) -> String {
        if link.isForced { return "held offline by a person" }
        if let breaker = link.circuitBreaker { return "circuit breaker open, \(breaker.waitingText)" }
        var parts: [String] = []
        if link.level != .good, link.level != .unknown, let reason = link.reason {
            parts.append(LinkText.clause(reason))
        }
        if let rate = link.maxRate { parts.append("limited to \(Figures.rate(rate))") }
        return parts.joined(separator: "; ")
    }

    /// The name, and why it is not better.
    static func statement(_ link: LinkReport) -> String {
        let sentence = sentence(link)
        guard link.direction == .up, let destination = Destination(link.destination) else {
            return "\(name(link)): \(sentence)"
        }
        return RowParts.sentence(sentence, of: destination)
    }

    static func sparkline(_ link: LinkReport, _ live: LiveSnapshot, key: String) -> HTML {
        let direction = link.direction
        var series =
            live.linkHistory[LiveLink(destination: link.destination, direction: direction)]?.goodput ?? LiveSeries()
        if series.values.count < 2 {
            series.interval = .seconds(1)
            series.values = link.history.map { $0 }
        }
        return SparklineView(series: series, label: "Goodput of \(name(link))", key: key).html
    }
}
