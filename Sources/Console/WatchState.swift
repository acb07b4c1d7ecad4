package import Commands

/// What a person sees of a running Sluice at one moment.
package struct WatchState: Sendable, Equatable {
    package struct Worker: Sendable, Equatable {
        package var seat: Int
        package var pid: Int32
        /// `ready`, `draining` or `lost`.
        package var state: String
        package var concurrency: Int?
        package var running: [Running]

        package init(seat: Int, pid: Int32, state: String, concurrency: Int? = nil, running: [Running] = []) {
            self.seat = seat
            self.pid = pid
            self.state = state
            self.concurrency = concurrency
            self.running = running
        }
    }

    package struct Running: Sendable, Equatable {
        package var id: CommandID
        package var type: String
        package var qos: QualityOfService
        package var destination: Destination
        package var since: Timestamp
        package var offset: Int64
        /// 0 where nobody knows.
        package var total: Int64
        /// Bytes per second.
        package var rate: Int64

        package init(
            id: CommandID, type: String, qos: QualityOfService, destination: Destination, since: Timestamp,
            offset: Int64 = 0, total: Int64 = 0, rate: Int64 = 0
        ) {
            self.id = id
            self.type = type
            self.qos = qos
            self.destination = destination
            self.since = since
            self.offset = offset
            self.total = total
            self.rate = rate
        }
    }

    package struct Problem: Sendable, Equatable {
        package var at: String
        package var id: String
        package var status: String
        package var reason: String

        package init(at: String, id: String, status: String, reason: String) {
            self.at = at
            self.id = id
            self.status = status
            self.reason = reason
        }
    }

    /// Seconds that the history goes back.
    package static let historyLength = 60
    /// Errors that are kept.
    package static let problemsKept = 50

    package var path: String
    package var now: Timestamp
    package var hasCoordinator = false
    package var coordinatorPID: Int32?
    package var counts: [CommandStatus: Int] = [:]
    /// Commands ended in each of the last seconds, oldest first.
    package var commandRates: [Double] = []
    /// Bytes moved in each of the last seconds, oldest first.
    package var byteRates: [Double] = []
    package var workers: [Worker] = []
    package var links = LinkOverview()
    /// Links get most of the screen.
    package var favoursLinks = false
    /// What a person has paused.
    package var pauses: [String] = []
    /// What of the store could not be read, a sentence each: the rest is without it.
    package var warnings: [String] = []
    /// The newest first.
    package var problems: [Problem] = []

    package init(path: String, now: Timestamp) {
        self.path = path
        self.now = now
    }

    package mutating func addSecond(commands: Double, bytes: Double) {
        commandRates.append(commands)
        byteRates.append(bytes)
        if commandRates.count > Self.historyLength { commandRates.removeFirst() }
        if byteRates.count > Self.historyLength { byteRates.removeFirst() }
    }

    package mutating func add(_ problem: Problem) {
        problems.insert(problem, at: 0)
        if problems.count > Self.problemsKept { problems.removeLast() }
    }
}
