package import NetworkControl

/// The links that matter most, and the sum of the others. Keeps no more links than it shows, however many are
/// added.
package struct LinkOverview: Sendable, Equatable {
    private struct Entry: Equatable {
        var rank: LinkRank
        var link: LinkReport
    }

    /// Links shown unless all are asked for.
    package static let maxShown = 20

    /// The sum of the links that are not shown.
    package private(set) var rest = LinkSummary()
    /// Nil: every link is shown.
    private let limit: Int?
    private var uplinks: [Entry] = []
    /// Sorted where there is a limit.
    private var others: [Entry] = []

    /// - Parameter limit: of links shown, uplinks included, which are shown at any limit above 0; nil shows
    ///   every link.
    package init(limit: Int? = maxShown) { self.limit = limit }

    package init(_ links: some Sequence<LinkReport>, limit: Int? = maxShown) {
        self.init(limit: limit)
        for link in links { add(link) }
    }

    package mutating func add(_ link: LinkReport) {
        let entry = Entry(rank: LinkRank(link), link: link)
        guard let limit else {
            others.append(entry)
            return
        }
        if link.isUplink, limit > 0 {
            uplinks.append(entry)
        } else {
            if others.count == room(limit), let last = others.last, last.rank < entry.rank { return rest.add(link) }
            others.insert(entry, at: others.firstIndex { entry.rank < $0.rank } ?? others.count)
        }
        while others.count > room(limit), let last = others.popLast() { rest.add(last.link) }
    }

    /// The shown links in their order.
    package var shown: [LinkReport] { (uplinks + others).sorted { $0.rank < $1.rank }.map(\.link) }

    /// The number of links, shown or not.
    package var count: Int { uplinks.count + others.count + rest.count }

    /// An overview that shows at most `limit` of these links, with the others in the sum.
    package func limited(to limit: Int) -> Self {
        var overview = Self(limit: limit)
        overview.rest = rest
        for entry in uplinks + others { overview.add(entry.link) }
        return overview
    }

    /// Changes shown links, in fields that their order does not depend on.
    mutating func completeShown(_ complete: (inout LinkReport) -> Void) {
        for index in uplinks.indices { complete(&uplinks[index].link) }
        for index in others.indices { complete(&others[index].link) }
    }

    private func room(_ limit: Int) -> Int { max(limit - uplinks.count, 0) }
}
