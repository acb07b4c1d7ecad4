internal import Host
internal import NetworkControl
internal import Queue

/// The links for all requests of a second: each reading subscribes at the coordinator, which then sends every link.
actor LinkReadings {
    private static let lifetime: Duration = .seconds(1)

    private let instance: Instance
    private var newest: (task: Task<[LinkReport], any Error>, since: MonotonicTime)?

    init(_ instance: Instance) { self.instance = instance }

    /// The links as they were at most a second ago.
    func readings() async throws -> [LinkReport] {
        if let newest, MonotonicTime.now < newest.since + Self.lifetime { return try await newest.task.value }
        let task = Task { [instance] in try await LinkSource(instance).readings() }
        newest = (task, .now)
        return try await task.value
    }

    /// Lets the next request read anew, because a setting has changed.
    func invalidate() { newest = nil }
}
