/// Which of two entries with one key in a single read is merged. Pure.
enum StagedChange {
    /// Within one list the later entry counts. The two lists have no order between them: in a delta the
    /// deletion counts, because a record that was made and deleted since the last sync is in both. In a full
    /// read the record counts, because the list has it now.
    /// - Parameters:
    ///   - later: the list of the entry that was read later.
    ///   - earlier: the list of the entry that is staged.
    ///   - isDelta: whether the read asked for changes only.
    /// - Returns: whether the later entry replaces the earlier one.
    static func replaces(_ later: ScanPlan.List, _ earlier: ScanPlan.List, isDelta: Bool) -> Bool {
        switch (later, earlier) {
        case (.items, .items), (.deletedItems, .deletedItems): true
        case (.deletedItems, .items): isDelta
        case (.items, .deletedItems): !isDelta
        }
    }

    /// Whether the pair counts as a duplicate of the result.
    static func isDuplicate(_ later: ScanPlan.List, _ earlier: ScanPlan.List) -> Bool {
        later == .items && earlier == .items
    }
}
