package import Commands

/// What a person sees of a running Sluice at one moment.
package struct WatchState: Sendable, Equatable {
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
    package var workers: [WorkerReading] = []
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
