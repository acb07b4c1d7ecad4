package import Commands
package import Console
package import Store

/// The running system at one moment, for pages, metrics and the stream `view`.
package struct LiveSnapshot: Sendable {
    /// When the newest part was read or reported.
    package var asOf: Timestamp
    /// Whether events of a coordinator arrive: otherwise links and progress are as they were at ``asOf``.
    package var hearsCoordinator = false
    package var coordinatorPID: Int32?
    package var counts = CommandCounts()
    package var workers: [WorkerReading] = []
    package var links = LinkOverview()
    package var relations = RelationOverview()
    /// The pauses that a person has set, a sentence each.
    package var pauses: [String] = []
    /// The parts of the store that could not be read, a sentence each.
    package var warnings: [String] = []
    /// Failures since the start of the door, grouped by reason, the newest first.
    package var problems: [WatchState.Problem] = []
    /// Uploads that are open, the newest first.
    package var uploads: [Upload] = []
    /// Commands that ended with success in each interval.
    package var succeeded = LiveSeries()
    /// Commands that ended otherwise, or failed and will be tried again, in each interval.
    package var failed = LiveSeries()
    /// Goodput and level of links, by destination and direction.
    package var linkHistory: [LiveLink: LinkHistory] = [:]

    package init(asOf: Timestamp) { self.asOf = asOf }
}

/// Values of equal intervals, the oldest first.
package struct LiveSeries: Sendable, Equatable {
    /// The end of the last interval.
    package var end: Timestamp = .zero
    /// The length of an interval.
    package var interval: Duration = .seconds(10)
    /// A nil is a gap: nothing was heard in the interval. At most an hour.
    package var values: [Double?] = []

    package init() {}
}

/// A link in one direction.
package struct LiveLink: Sendable, Hashable {
    package var destination: String
    package var direction: Direction

    package init(destination: String, direction: Direction) {
        self.destination = destination
        self.direction = direction
    }
}

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
