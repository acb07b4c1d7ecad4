internal import Commands

/// The facts about a complete read that its merge needs.
struct MergePlan: Sendable {
    var payload: SyncPayload
    var command: CommandID
    var read: SyncRead
    var end: PagingEnd
    var everyPageWas200 = true
    var firstPage = ReadFacts.FirstPage.unknown
    var print = ReadPrint()
    /// Of the first read of the command, where this is the second.
    var firstPrint: ReadPrint?
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
    /// Nothing was written: rows are missing, and the first page shows whether the list moved.
    case checkFirstPage
    /// Nothing was written: the list moved, and a second read shows whether missing rows are gone.
    case readAgain
}
