/// A row of the collection as the merge finds it.
struct StoredRow: Sendable, Equatable {
    /// The row was changed in this collection since the last sync took it over.
    var isLocal = false
    /// The row was made in this collection and never came from the remote.
    var isMadeHere = false
    /// Of a row that was changed here: the time of the change by this host's clock, or the number that the
    /// change carries. It is not used for other rows.
    var version: RecordVersion?
    /// Whether the body has the bytes of the remote record.
    var hasSameBody = false
    /// Whether the remote record is stored beside the body already.
    var hasSameRemote = false

    /// Whether the remote does not have the row as it is.
    var isChangedHere: Bool { isLocal || isMadeHere }
}
