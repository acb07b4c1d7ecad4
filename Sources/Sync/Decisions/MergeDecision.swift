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
