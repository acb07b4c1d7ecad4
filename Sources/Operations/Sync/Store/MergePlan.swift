internal import Commands

/// The facts about a complete read that its merge needs.
struct MergePlan: Sendable {
    var payload: SyncPayload
    var command: CommandID
    var read: SyncRead
    var end: PagingEnd
    var everyPageWas200 = true
    var isSecondRead = false
    /// The server's clock minus this host's.
    var clockOffset: Duration
    var validators: ListValidators?
    /// The counts and the token of the read; the merge adds the counts of the rows.
    var result: SyncResult
    /// By this host's clock.
    var now: Timestamp
}

/// The end of a merge.
enum MergeOutcome: Sendable {
    case merged(SyncResult)
    /// Nothing was written: the list moved while it was read.
    case readAgain
}
