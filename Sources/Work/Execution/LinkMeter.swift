internal import Commands
internal import Metrics

/// Counts the bytes that links carry, and those that the kernel sent again: of the first ``maxLinks`` links by name, and
/// of further ones together.
struct LinkMeter {
    private struct Counters {
        /// By class of quality.
        var carried: [Counter]
        var resent: Counter
    }

    static let maxLinks = 200
    static let other = "other"

    private var counters: [LinkName: Counters] = [:]
    private var others: [Direction: Counters] = [:]

    /// - Parameter bytes: since the last call, by class of quality.
    mutating func carried(_ bytes: [Int64], by link: LinkName) {
        guard link.destination != .none, bytes.contains(where: { $0 > 0 }) else { return }
        let counters = counters(of: link)
        for (counter, bytes) in zip(counters.carried, bytes) where bytes > 0 { counter.increment(by: bytes) }
    }

    /// - Parameter bytes: since the last call.
    mutating func resent(_ bytes: Int64, by link: LinkName) {
        guard link.destination != .none, bytes > 0 else { return }
        counters(of: link).resent.increment(by: bytes)
    }

    private mutating func counters(of link: LinkName) -> Counters {
        if let known = counters[link] { return known }
        guard counters.count < Self.maxLinks else {
            let made = others[link.direction] ?? Self.counters(Self.other, link.direction)
            others[link.direction] = made
            return made
        }
        let made = Self.counters(link.destination.text, link.direction)
        counters[link] = made
        return made
    }

    private static func counters(_ link: String, _ direction: Direction) -> Counters {
        let labels = [("link", link), ("direction", direction.rawValue)]
        return Counters(
            carried: ServiceClass.allCases.map { serviceClass in
                Counter(label: "sluice.link.bytes", dimensions: labels + [("class", "\(serviceClass)")])
            },
            resent: Counter(label: "sluice.link.resent.bytes", dimensions: labels))
    }
}
