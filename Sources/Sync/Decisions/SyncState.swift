internal import Commands

/// The state of a collection after its last sync. It is written in the transaction of the merge, so that
/// token and rows never differ.
struct SyncState: Sendable, Equatable {
    /// The revision of the collection.
    var rev: Int64 = 0
    /// The command that was merged last; nil where a person has begun it again since.
    var command: CommandID?
    /// Of the payload (``SyncPayload/fingerprint``) that token and validators belong to.
    var fingerprint = ""
    var token: String?
    var validators: ListValidators?
    /// When the last full read was applied, by this host's clock.
    var lastFull: Timestamp?
    /// Whether the collection has rows that were changed here.
    var hasLocalRows = false
}
