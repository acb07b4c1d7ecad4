/// The facts of a read by which ``MissingRows`` decides.
struct ReadFacts: Sendable, Equatable {
    var mode: SyncPayload.Mode
    var read: SyncRead
    var end: PagingEnd
    /// Whether every page was answered 200.
    var everyPageWas200 = true
    /// Rejected records whose key is not known; each may be any row of the collection.
    var rejectsWithoutKey = 0
    /// Keys that occurred twice in the list.
    var duplicates = 0
    var paging: PagingRule.Kind
    /// Whether this is the second read of the list in one command, after the first found duplicates.
    var isSecondRead = false
    /// Keys that the read lists, with those of rejected records.
    var listed: Int
    /// Rows of the collection that can be missing (``MergeDecision/deletesMissing(_:)``).
    var rows: Int
    /// The ones of ``rows`` that the read does not list.
    var missing: Int
    var allowEmpty = false
    var maxDelete = DeleteLimit.standard
}
