internal import Commands
package import Console
package import Store

/// The links for a display that is read again and again: from events while a coordinator runs, otherwise as the last
/// coordinator left them.
package struct LiveLinks {
    /// The links that were read last without a coordinator: until one starts, only a person changes them.
    private var stored: (overrides: LinkOverrides, limit: Int, overview: LinkOverview)?

    package init() {}

    /// - Parameters:
    ///   - collector: has the events of a coordinator.
    ///   - limit: of links shown.
    ///   - isLive: whether a coordinator runs.
    package mutating func overview(
        _ queue: QueueAccess, _ collector: WatchCollector, limit: Int, isLive: Bool
    ) throws(StoreError) -> LinkOverview {
        let overrides = LinkOverrides(try queue.overrides())
        if isLive {
            stored = nil
            return collector.links(limit: limit, overrides: overrides)
        }
        if let stored, stored.overrides == overrides, stored.limit == limit { return stored.overview }
        let links = try queue.storedLinks()
        let overview = overrides.overview(limit: limit) { links.visit(now: queue.now, $0) }
        stored = (overrides, limit, overview)
        return overview
    }
}
