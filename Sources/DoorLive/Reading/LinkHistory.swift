package import Commands

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
package struct LinkHistory: Sendable, Equatable {
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
