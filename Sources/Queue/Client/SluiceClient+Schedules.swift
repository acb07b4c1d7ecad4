package import Commands
internal import Store

extension SluiceClient {
    /// Submits what a schedule submits now, whatever its times.
    /// - Returns: the ids of its commands; empty where there is no schedule of that name.
    /// - Throws: ``SluiceError``: `invalid` with the sentence of the schedule where it cannot be submitted.
    package func trigger(schedule name: String) async throws -> [CommandID] {
        let now = clock()
        let (ids, problem) = try await access { access throws(StoreError) in
            try access.triggerSchedule(name, now: now)
        }
        if let problem { throw SluiceError(.invalid, problem) }
        return ids
    }
}
