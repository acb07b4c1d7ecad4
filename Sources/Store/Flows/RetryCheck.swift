internal import Commands

/// Whether a retried command has to wait for others. Pure: both stores do what this decides.
enum RetryCheck {
    /// A command or flow with an ordering key enters the queue of its key here.
    /// - Throws: `.busy` while its effects are still to be written; `.conflict` where a parent has ended in another way than the command waits for.
    static func mustWait<Rows: RelationRows>(_ row: StoredCommand, _ rows: inout Rows) throws(StoreError) -> Bool {
        let status = row.command.status
        guard status == .cancelled || status == .tooManyTimes else { return false }
        if row.relations.contains(.flow) {
            // It does not wait: its nodes may run already.
            if let key = row.key, !row.holdsKey { try Lanes.hold(key, row.command.turn, &rows) }
            return false
        }
        var mustWait = false
        if row.relations.contains(.node), let node = try rows.node(row.command.turn), node.pending > 0 {
            let failed = try rows.dependencies(of: row.command.turn).first { $0.state == .unsatisfiable }
            if let failed, let parent = try rows.command(turn: failed.parent) {
                throw StoreError.waits(row, forRetryOf: parent)
            }
            let remote = try rows.remoteDependencies(of: row.command.turn).first { $0.state == .unsatisfiable }
            if let remote { throw StoreError.waits(row, for: remote) }
            mustWait = true
        }
        if row.key != nil, try rows.cascade(of: row.command.turn, .settle) != nil {
            // One that depends on it may have its key, and is still to be cancelled.
            throw StoreError(
                .busy, "The effects of the end of command \(row.id) are still being written; try again.", id: row.id)
        }
        if let key = row.key, !row.holdsKey, try !Lanes.enter(key, row.command.turn, limit: nil, &rows) {
            mustWait = true
        }
        return mustWait
    }
}
