package import Commands

/// The contents of the live screen at one moment.
package struct WatchState: Sendable, Equatable {
    package struct Problem: Sendable, Equatable {
        package var at: String
        package var id: String
        package var status: String
        package var reason: String
        /// Commands that had the same problem.
        package var count = 1

        package init(at: String, id: String, status: String, reason: String) {
            self.at = at
            self.id = id
            self.status = status
            self.reason = reason
        }
    }

    /// Seconds of the history.
    package static let historyLength = 60
    /// The maximum number of errors.
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
    package var workers: [WorkerReading] = []
    package var links = LinkOverview()
    /// Links get two thirds of the screen.
    package var favoursLinks = false
    /// Flows, batches, ordering keys and schedules.
    package var relations = RelationOverview()
    /// The pauses that a person has set, a sentence each.
    package var pauses: [String] = []
    /// The parts of the store that could not be read, a sentence each.
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
        problems.add(problem)
    }
}

extension [WatchState.Problem] {
    /// Adds the newest problem. Problems with one cause share an entry, which shows the newest and their number.
    package mutating func add(_ problem: WatchState.Problem) {
        var problem = problem
        if let index = firstIndex(where: { $0.status == problem.status && $0.reason == problem.reason }) {
            problem.count += remove(at: index).count
        }
        insert(problem, at: 0)
        if count > WatchState.problemsKept { removeLast() }
    }
}
