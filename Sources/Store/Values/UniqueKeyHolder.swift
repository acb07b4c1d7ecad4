internal import Commands

/// The command that holds a unique key.
struct UniqueKeyHolder {
    var id: CommandID
    var turn: Int64
    /// Nil: the command was submitted by release 0.1.0.
    var digest: [UInt8]?
    var period: UniquePeriod
    var submittedAt: Timestamp

    /// Whether the period is over, so that the next submit takes the key.
    func hasLapsed(at now: Timestamp) -> Bool { period.hasLapsed(since: submittedAt, at: now) }

    /// The error of a draft with the same key and another payload or destination.
    func conflict(over key: String) -> StoreError {
        StoreError(
            .conflict,
            "The unique key “\(key)” belongs to \(id), which has another payload or destination; it is held "
                + "\(period.end(since: submittedAt)).", id: id)
    }
}
