package import Commands
package import Console
internal import Host

extension QueueAccess {
    /// A worker reports four times a second.
    private static let progressTimeout: Duration = .milliseconds(800)

    /// How far a running command is, from the next event about it.
    /// - Returns: nil where nothing of it moves, and without a coordinator.
    package func progress(of id: CommandID) async -> CommandProgress? {
        guard coordinator != nil else { return nil }
        let (events, continuation) = AsyncStream.makeStream(of: CommandProgress.self)
        let feed = try? EventFeed(endpoints, prefixes: ["progress/\(id)"]) { frame in
            guard let event = SluiceEvent(frame: Array(frame)), let progress = CommandProgress(body: event.body) else {
                return
            }
            continuation.yield(progress)
        }
        guard let feed else { return nil }
        defer { feed.close() }
        return await withTaskGroup(of: CommandProgress?.self) { group in
            group.addTask { await events.first { _ in true } }
            group.addTask {
                try? await Task.sleep(for: Self.progressTimeout)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
