internal import Commands
internal import Host
internal import NetworkControl
internal import Queue

/// The links for all requests of a second: each reading subscribes at the coordinator, which then sends every link.
actor LinkReadings {
    private static let lifetime: Duration = .seconds(1)

    private let queue: QueueAccess
    private var newest: (task: Task<[LinkReport], any Error>, since: MonotonicTime)?

    init(_ queue: QueueAccess) { self.queue = queue }

    /// The links as they were at most a second ago.
    func readings() async throws -> [LinkReport] {
        if let newest, MonotonicTime.now < newest.since + Self.lifetime { return try await newest.task.value }
        let task = Task { [queue] in try await LinkSource(queue).readings() }
        newest = (task, .now)
        return try await task.value
    }

    /// Commands whose links are read at the same time, each by a subscription of its own.
    private static let maxAtOnce = 4
    private var running = 0

    /// The links that the reasons of a command depend on. Where many ask at once, one reading of all links is less work.
    func readings(for command: Command) async throws -> [LinkReport] {
        guard running < Self.maxAtOnce else { return try await readings() }
        running += 1
        defer { running -= 1 }
        return try await LinkSource(queue).readings(for: command)
    }

    /// Lets the next request read anew, because a setting has changed.
    func invalidate() { newest = nil }
}
