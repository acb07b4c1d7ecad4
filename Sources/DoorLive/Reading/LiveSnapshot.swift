package import Commands
package import Console
package import Queue

/// The running system at one moment, for pages, metrics and the stream `view`.
package struct LiveSnapshot: Sendable {
    /// When the newest part was read or reported.
    package var asOf: Timestamp
    /// Whether events of a coordinator arrive: otherwise links and progress are as they were at ``heardAt``.
    package var hearsCoordinator = false
    /// When the last event of a coordinator arrived; nil before the first.
    package var heardAt: Timestamp?
    /// Nil where no coordinator runs, and where the kernel does not tell its process.
    package var coordinatorPID: Int32?
    /// Commands by status and quality of service.
    package var counts = CommandCounts()
    /// The workers that run, by seat.
    package var workers: [WorkerReading] = []
    /// Shows at most ``maxLinks`` links.
    package var links = LinkOverview()
    /// Open flows, ordering keys and schedules.
    package var relations = RelationOverview()
    /// Why commands wait: first the causes that time alone does not end, then those of most commands.
    package var waiting: [WaitCause] = []
    /// The pauses that a person has set, a sentence each.
    package var pauses: [String] = []
    /// The parts of the store that could not be read, a sentence each.
    package var warnings: [String] = []
    /// Failures since the start of the door, grouped by reason, the newest first.
    package var problems: [WatchState.Problem] = []
    /// The failures of the commands that still need a retry or a person when the door starts, and all failures since.
    package var failures = FailureGroups()
    /// Uploads that are open, the newest first, at most ``maxUploads``.
    package var uploads: [Upload] = []
    /// The rates of the last second; nil before the second reading.
    package var rates: LiveRates?
    /// Commands that ended with success in each interval.
    package var succeeded = LiveSeries()
    /// Commands that were cancelled or are in doubt, and executions that failed, in each interval.
    package var failed = LiveSeries()
    /// Goodput and level of links, by destination and direction.
    package var linkHistory: [LiveLink: LinkChart] = [:]

    package static let maxLinks = 200
    package static let maxUploads = 200

    package init(asOf: Timestamp) { self.asOf = asOf }

    /// The commands that workers execute, the longest running first.
    package var running: [RunningCommand] { workers.flatMap(\.running).sorted { $0.since < $1.since } }
}

/// Rates of the last second.
package struct LiveRates: Sendable, Equatable {
    /// Commands per second, as ``LiveSnapshot/succeeded``.
    package var succeeded: Double
    /// Commands per second, as ``LiveSnapshot/failed``.
    package var failed: Double
    /// Bytes per second of all links.
    package var bytes: Double

    package init(succeeded: Double, failed: Double, bytes: Double) {
        self.succeeded = succeeded
        self.failed = failed
        self.bytes = bytes
    }
}

/// Values of equal intervals, the oldest first.
package struct LiveSeries: Sendable, Equatable {
    /// The maximum number of values: an hour.
    package static let maxCount = 360

    /// The end of the last interval.
    package var end: Timestamp = .zero
    /// The length of an interval.
    package var interval: Duration = .seconds(10)
    /// A nil is a gap: nothing was heard in the interval. At most an hour.
    package var values: [Double?] = []

    package init() {}

    /// The end of the interval that contains `time`.
    package func end(after time: Timestamp) -> Timestamp {
        let length = max(interval.milliseconds, 1)
        let start = time.milliseconds - (time.milliseconds % length + length) % length
        return Timestamp(milliseconds: start + length)
    }

    /// Adds the value of an interval. Intervals between it and the last one are gaps. A clock that was set back begins
    /// the series again.
    package mutating func append(_ value: Double?, endingAt end: Timestamp) {
        let missing = (end - self.end).milliseconds / max(interval.milliseconds, 1) - 1
        if values.isEmpty || missing < 0 || missing >= Int64(Self.maxCount) {
            values = []
        } else {
            values += Array(repeating: nil, count: Int(missing))
        }
        values.append(value)
        if values.count > Self.maxCount { values.removeFirst(values.count - Self.maxCount) }
        self.end = end
    }
}
