package import Commands
package import NetworkControl

/// The links, collected from events: `link/` has every member of a link, `bandwidth/` its traffic in between.
/// Pure.
package struct LinkCollector: Sendable {
    private struct Key: Hashable {
        var destination: String
        var direction: Direction
    }

    /// The last report of one worker.
    private struct Share {
        var goodput: Int64
        var inFlight: Int64
    }

    private struct Entry {
        var link: LinkReport
        /// The number of seconds in the history; in later seconds the traffic had the link's rate.
        var seconds: Int

        func history(until second: Int) -> [Double] {
            LinkCollector.extended(link.history, by: second - seconds, rate: link.rate ?? 0)
        }
    }

    private var links: [Key: Entry] = [:]
    private var shares: [Key: [Int64: Share]] = [:]
    /// Seconds that have passed.
    private var seconds = 0

    package init() {}

    /// - Parameters:
    ///   - kind: `link` or `bandwidth`; others are ignored.
    ///   - destination: the rest of the topic.
    package mutating func take(kind: some StringProtocol, destination: some StringProtocol, body: JSONValue) {
        let key = Key(
            destination: String(destination),
            direction: body["direction"]?.string.flatMap { Direction(rawValue: $0) } ?? .up)
        switch kind {
        case "link":
            guard let link = LinkReport(destination: destination, body: body) else { return }
            let known = links.updateValue(Entry(link: link, seconds: seconds), forKey: key)
            // Only a snapshot contains the history; it is continued here.
            if link.history.isEmpty, let known {
                let history = known.history(until: seconds)
                links[key]?.link.history = history
            }
        case "bandwidth":
            guard let goodput = body["goodput"]?.integer else { return }
            shares[key, default: [:]][body["worker"]?.integer ?? -1] = Share(
                goodput: goodput, inFlight: body["inFlight"]?.integer ?? 0)
        default: return
        }
    }

    /// Adds a second to the histories. Its cost is proportional to the links with traffic: the history of any
    /// other link is completed when the link is shown or changes.
    package mutating func second() {
        for (key, workers) in shares {
            guard var entry = links[key] else { continue }
            entry.link.history = Self.extended(entry.history(until: seconds), by: 1, rate: Self.goodput(workers))
            entry.seconds = seconds + 1
            links[key] = entry
        }
        seconds += 1
        shares = [:]
    }

    /// Calls `body` with each link, in no order and without the end of its history. A link that only
    /// bandwidth events name has nothing but its traffic.
    package func visit(_ body: (LinkReport) -> Void) {
        for (key, entry) in links {
            var link = entry.link
            if link.rate == nil, let workers = shares[key] { Self.add(workers, to: &link) }
            body(link)
        }
        for (key, workers) in shares where links[key] == nil {
            var link = LinkReport(destination: key.destination, level: .unknown)
            link.direction = key.direction
            Self.add(workers, to: &link)
            body(link)
        }
    }

    /// Completes the histories of the shown links.
    package func complete(_ overview: inout LinkOverview) {
        overview.completeShown { link in
            guard let entry = links[Key(destination: link.destination, direction: link.direction)] else { return }
            link.history = entry.history(until: seconds)
        }
    }

    // MARK: Parts

    private static func extended(_ history: [Double], by seconds: Int, rate: Int64) -> [Double] {
        let maxCount = LinkReport.historyLength
        let added = min(max(seconds, 0), maxCount)
        return history.suffix(maxCount - added) + Array(repeating: Double(max(rate, 0)), count: added)
    }

    private static func add(_ workers: [Int64: Share], to link: inout LinkReport) {
        link.rate = goodput(workers)
        link.inFlight = link.inFlight ?? workers.values.reduce(0) { $0 &+ $1.inFlight }
    }

    private static func goodput(_ workers: [Int64: Share]) -> Int64 { workers.values.reduce(0) { $0 &+ $1.goodput } }
}
