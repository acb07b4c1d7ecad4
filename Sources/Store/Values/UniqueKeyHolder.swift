internal import Commands
internal import Crypto

/// The command that holds a unique key.
struct UniqueKeyHolder {
    var id: CommandID
    var turn: Int64
    /// Nil: the command is older than this form of fingerprint.
    var fingerprint: [UInt8]?
    var period: UniquePeriod
    /// When the command was submitted.
    var start: Timestamp

    /// Whether the key goes to the next submit.
    func hasLapsed(at now: Timestamp) -> Bool { period.hasLapsed(since: start, at: now) }

    /// Why `key` is refused to a different command.
    func conflict(over key: String) -> StoreError {
        StoreError(
            .conflict,
            "The unique key “\(key)” belongs to \(id), which has another payload or destination; it is held "
                + "\(period.end(since: start)).", id: id)
    }
}
