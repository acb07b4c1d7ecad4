package import Commands
internal import Store
internal import Wire

extension SluiceClient {
    /// Submits what a schedule submits now, whatever its times, and sends the coordinator hints.
    /// - Returns: the ids of its commands; empty where there is no schedule of that name.
    /// - Throws: ``SluiceError``: `invalid` with the sentence of the schedule where it cannot be submitted.
    package func trigger(schedule name: String) async throws -> [CommandID] {
        let round = try await read { [clock] store throws(StoreError) in
            try store.fireSchedule(named: name, now: clock())
        }
        if let problem = round.problems.first { throw SluiceError(.invalid, problem) }
        let ids = round.changes.flatMap(\.ids)
        let (changed, requested) = round.effects.hints(without: nil)
        hint(ready: ids)
        batcher.send(.changed, changed)
        batcher.send(.cancelRequested, requested)
        return ids
    }

    /// Changes a schedule.
    /// - Parameter body: gets the schedule, and returns the one to store.
    /// - Returns: the schedule afterwards; nil where there is none of that name.
    package func change(
        schedule name: String, _ body: @escaping @Sendable (StoredSchedule, Timestamp) -> StoredSchedule
    ) async throws -> StoredSchedule? {
        try await read { [clock] store throws(StoreError) in
            try store.changeSchedule(name) { schedule throws(StoreError) in schedule.map { body($0, clock()) } }
            return try store.schedule(name)
        }
    }
}
