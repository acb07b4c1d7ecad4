package import Commands
package import NetworkControl

/// A link in one direction.
package struct LiveLink: Sendable, Hashable {
    package var destination: String
    package var direction: Direction

    package init(destination: String, direction: Direction) {
        self.destination = destination
        self.direction = direction
    }
}

/// The last hour of a link.
package struct LinkChart: Sendable, Equatable {
    /// Bytes per second.
    package var goodput = LiveSeries()
    /// When each level began, the oldest first; at most an hour back.
    package var levels: [Level] = []

    package struct Level: Sendable, Equatable {
        package var since: Timestamp
        /// As in events: `good`, `degraded`, `poor`, `offline` or `unknown`.
        package var name: String

        package init(since: Timestamp, name: String) {
            self.since = since
            self.name = name
        }
    }

    package init() {}
}

/// Collects the histories of links. Pure.
package struct LinkHistories: Sendable {
    private static let length: Duration = .seconds(3600)
    private static let unknown = "unknown"

    package private(set) var links: [LiveLink: LinkChart] = [:]
    private var seenAt: [LiveLink: Timestamp] = [:]

    package init() {}

    /// Notes the levels of the shown links.
    /// - Parameter isHeard: whether the coordinator reports them: otherwise their levels are unknown from `now` on.
    package mutating func note(_ shown: [LinkReport], isHeard: Bool, now: Timestamp) {
        for report in shown.prefix(LiveSnapshot.maxLinks) {
            let link = LiveLink(destination: report.destination, direction: report.direction)
            seenAt[link] = now
            let name = isHeard ? report.level.name : Self.unknown
            guard links[link]?.levels.last?.name != name else { continue }
            let began = isHeard && links[link] == nil ? report.since ?? now : now
            links[link, default: LinkChart()].levels.append(.init(since: min(began, now), name: name))
        }
        prune(now)
    }

    /// Ends an interval: adds the goodput of the shown links.
    /// - Parameter isHeard: false: the interval is a gap.
    package mutating func endInterval(_ shown: [LinkReport], isHeard: Bool, at end: Timestamp) {
        for report in shown.prefix(LiveSnapshot.maxLinks) {
            let link = LiveLink(destination: report.destination, direction: report.direction)
            guard var history = links[link] else { continue }
            let seconds = report.history.suffix(Int(history.goodput.interval.seconds))
            let mean = seconds.isEmpty ? Double(report.rate ?? 0) : seconds.reduce(0, +) / Double(seconds.count)
            history.goodput.append(isHeard ? mean : nil, endingAt: end)
            links[link] = history
        }
    }

    /// Forgets levels that ended more than an hour ago, and links beyond the maximum that were not shown for longest.
    private mutating func prune(_ now: Timestamp) {
        let start = now - Self.length
        for (link, history) in links where history.levels.count > 1 && history.levels[1].since <= start {
            let first = history.levels.lastIndex { $0.since <= start } ?? 0
            links[link]?.levels.removeFirst(first)
        }
        guard links.count > LiveSnapshot.maxLinks else { return }
        let old = seenAt.sorted { $0.value < $1.value }.prefix(links.count - LiveSnapshot.maxLinks)
        for (link, _) in old { (links[link], seenAt[link]) = (nil, nil) }
    }
}

extension Timestamp {
    /// The time that is earlier by `duration`.
    fileprivate static func - (time: Timestamp, duration: Duration) -> Timestamp { time + (.zero - duration) }
}
