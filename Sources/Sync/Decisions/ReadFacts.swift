internal import Commands

/// The facts of a read by which ``MissingRows`` decides.
struct ReadFacts: Sendable, Equatable {
    /// The first page, requested once more behind the last one.
    enum FirstPage: Sendable, Equatable {
        case unknown, same, changed
    }

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
    var pages: Int64 = 1
    var firstPage = FirstPage.unknown
    /// Whether this is the second read of the list in one command.
    var isSecondRead = false
    /// Whether the first read of this command has the same ``ReadPrint``.
    var isSameAsFirst = false
    /// Whether the last complete read of an earlier command has the same ``ReadPrint``.
    var isSameAsLast = false
    /// Keys that the read lists, with those of rejected records.
    var listed: Int
    /// Rows of the collection that can be missing (``MergeDecision/deletesMissing(_:)``).
    var rows: Int
    /// The ones of ``rows`` that the read does not list.
    var missing: Int
    /// The ones of ``missing`` that the last complete read did not list either.
    var missingBefore = 0
    /// The ones of ``missing`` that this is complete read ``ReadProof/maxReads`` in a row not to list.
    var missingOften = 0
    var allowEmpty = false
    var maxDelete = DeleteLimit.standard
}
