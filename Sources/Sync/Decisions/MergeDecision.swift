/// Decides what one remote record does to its row. Pure.
///
/// | row | remote record | remote | local | newest |
/// |---|---|---|---|---|
/// | none | record | insert | insert | insert |
/// | none | tombstone | – | – | – |
/// | not local | other bytes | update | update | update |
/// | not local | same bytes | – | – | – |
/// | not local | tombstone | delete | delete | delete |
/// | local | same bytes | settle | settle | settle |
/// | local | other bytes | update | store beside | later version; equal or missing: update |
/// | local | tombstone | delete | – | later version; equal or missing: delete |
/// | made here | tombstone | delete | – | – |
struct MergeDecision: Sendable {
    let rule: MergeRule
    /// The server's clock minus this host's, from the `Date` of the first page's answer; zero where it has
    /// none.
    let clockOffset: Duration

    func action(for change: RemoteChange, on row: StoredRow?) throws(MergeRefusal) -> MergeAction {
        guard let row else { return change.isTombstone ? .none : .insert }
        if change.isTombstone {
            guard row.isChangedHere else { return .delete }
            return try isReplaced(row, by: change) ? .delete : .none
        }
        if row.hasSameBody { return row.isChangedHere ? .settle : .none }
        guard row.isChangedHere else { return .update }
        guard try !isReplaced(row, by: change) else { return .update }
        return row.hasSameRemote ? .none : .storeRemote
    }

    /// Whether a full read that does not list a row deletes it. There is no remote version to compare, so a
    /// change made here stays unless the remote always counts.
    func deletesMissing(_ row: StoredRow) -> Bool { rule == .remote || !row.isChangedHere }

    private func isReplaced(_ row: StoredRow, by change: RemoteChange) throws(MergeRefusal) -> Bool {
        switch rule {
        case .remote: return true
        case .local: return false
        case .newest:
            // A deletion of a record that the remote never had from here is about another record.
            if change.isTombstone, row.isMadeHere { return false }
            guard let remote = change.version, let local = row.version?.moved(by: clockOffset) else { return true }
            guard let isLocalLater = local.isLater(than: remote) else { throw .incomparable(remote, local) }
            return !isLocalLater
        }
    }
}

/// A staged record, or a key of the list of deleted ones.
struct RemoteChange: Sendable, Equatable {
    var isTombstone = false
    var version: RecordVersion?
}

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

/// The change of a row by one remote record.
enum MergeAction: Sendable, Equatable {
    case insert
    /// Replaces the body; the row is not local any more.
    case update
    case delete
    /// The bodies are equal: the row is not local any more, and observers hear nothing.
    case settle
    /// The local body stays; the remote record is stored beside it.
    case storeRemote
    /// Nothing is written.
    case none
}

/// Why a record cannot be merged; the whole sync is refused.
enum MergeRefusal: Error, Sendable, Equatable {
    /// One version is a number, the other a date.
    case incomparable(RecordVersion, RecordVersion)

    var reason: String {
        switch self {
        case .incomparable(let remote, let local):
            "the version \(remote.stored) cannot be compared with \(local.stored) of the row that was changed here: "
                + "one is a number, the other a date; correct “version”, or choose “merge” remote or local"
        }
    }
}

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
