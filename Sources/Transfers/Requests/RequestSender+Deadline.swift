package import HTTPClient

extension RequestSender {
    /// Sends one request, and stops it at the deadline.
    /// - Returns: the record, and whether the deadline has stopped the request. Then the record has what came
    ///   before it, which may be a status.
    package func send(_ parts: Parts, until deadline: ContinuousClock.Instant) async -> (
        record: HTTPRecord, isLate: Bool
    ) {
        let record = await withTaskGroup(of: HTTPRecord?.self) { group in
            group.addTask { await send(parts) }
            group.addTask {
                try? await Task.sleep(until: deadline)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            guard first == nil else { return first }
            return await group.next() ?? nil
        }
        guard let record else {
            var record = HTTPRecord()
            record.error = CancellationError()
            return (record, false)
        }
        return (record, record.error is CancellationError && !Task.isCancelled)
    }
}
