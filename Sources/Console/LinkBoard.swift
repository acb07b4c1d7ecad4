package import Commands

/// The links as events tell them: `link/` the whole, `bandwidth/` what moves meanwhile. Pure.
package struct LinkBoard: Sendable {
    private struct Key: Hashable {
        var destination: String
        var direction: String
    }

    /// What each worker said last.
    private struct Share {
        var goodput: Int64
        var inFlight: Int64
    }

    private var links: [Key: LinkReading] = [:]
    private var shares: [Key: [Int64: Share]] = [:]

    package init() {}

    /// - Parameters:
    ///   - kind: `link` or `bandwidth`; others are passed over.
    ///   - destination: the rest of the topic.
    package mutating func take(kind: some StringProtocol, destination: some StringProtocol, body: JSONValue) {
        let key = Key(destination: String(destination), direction: body["direction"]?.string ?? "up")
        switch kind {
        case "link":
            guard var link = LinkReading(destination: destination, body: body) else { return }
            // Only a snapshot has the history; from then on it is written here.
            if link.history.isEmpty, let known = links[key] { link.history = known.history }
            links[key] = link
        case "bandwidth":
            guard let goodput = body["goodput"]?.integer else { return }
            shares[key, default: [:]][body["worker"]?.integer ?? -1] = Share(
                goodput: goodput, inFlight: body["inFlight"]?.integer ?? 0)
        default: return
        }
    }

    /// A second is over: it goes into the histories.
    package mutating func second() {
        for key in links.keys {
            let moved = shares[key].map { $0.values.reduce(0) { $0 + $1.goodput } } ?? links[key]?.rate ?? 0
            links[key]?.history.append(Double(max(moved, 0)))
            if let count = links[key]?.history.count, count > LinkReading.historyLength {
                links[key]?.history.removeFirst()
            }
        }
        shares = [:]
    }

    /// The worst first. Of a link that only bandwidth events tell of nothing but the traffic is known.
    package var readings: [LinkReading] {
        var all = links
        for (key, workers) in shares where links[key]?.rate == nil {
            var link = all[key] ?? LinkReading(destination: key.destination, level: "unknown")
            link.direction = key.direction
            link.rate = workers.values.reduce(0) { $0 + $1.goodput }
            link.inFlight = link.inFlight ?? workers.values.reduce(0) { $0 + $1.inFlight }
            all[key] = link
        }
        return all.values.sorted(by: LinkReading.goesBefore)
    }
}
