package import Commands

extension SQLiteStore {
    package func cleanUp(
        shard number: Int, limit: Int, _ cleanup: (Leftover) -> CommandDraft?
    ) throws(StoreError) -> Int {
        let now = clock.now()
        let shard = try self.shard(number)
        // Outside a write transaction, so that no write waits where there is nothing to do.
        let isDue = try shard.use { connection throws(StoreError) in try connection.hasLeftover(due: now) }
        guard isDue, !isClockHeld else { return 0 }
        return try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            let leftovers = try connection.leftovers(due: now, limit: limit)
            var drafts: [CommandDraft] = []
            var pending: [PendingInsert] = []
            for leftover in leftovers {
                try connection.dropLeftover(of: leftover.command)
                guard leftover.isOfEnded, let draft = cleanup(leftover), draft.problem == nil else { continue }
                // A retry of the command begins anew, so it never uses what the draft removes.
                try connection.dropCheckpoint(of: leftover.command)
                let id = CommandID(now: now, shardByte: leftover.command.id.shardByte)
                pending.append(PendingInsert(index: drafts.count, id: id))
                drafts.append(draft)
            }
            for result in try connection.insert(drafts, pending, allowUnknownTypes: true, now: now) {
                _ = try result.get()
            }
            return leftovers.count
        }
    }
}

extension Connection {
    fileprivate func hasLeftover(due: Timestamp) throws(StoreError) -> Bool {
        try statement(.hasLeftover, due).hasRow()
    }

    fileprivate func leftovers(due: Timestamp, limit: Int) throws(StoreError) -> [Leftover] {
        try statement(.leftovers, due, limit).rows { row throws(StoreError) in
            Leftover(
                command: try StoredCommand(row, self).command, payload: row.bytes(Query.columnCount),
                checkpoint: row.optionalBytes(Query.columnCount + 1) ?? [])
        }
    }

    /// Records that a command has ended, if it has a checkpoint.
    func recordLeftover(of command: Command) throws(StoreError) {
        try statement(.recordLeftover, command.turn, Leftover.due(command)).run()
    }

    /// The command runs again, or its remains are taken care of.
    func dropLeftover(of command: Command) throws(StoreError) { try statement(.dropLeftover, command.turn).run() }

    /// Makes the leftover of a command that is to be deleted due at once.
    /// - Returns: false where it has none.
    func hasten(leftoverOf turn: Int64) throws(StoreError) -> Bool {
        try statement(.hastenLeftover, turn).run()
        return changedRows > 0
    }

    fileprivate func dropCheckpoint(of command: Command) throws(StoreError) {
        try statement(.dropCheckpoint, command.turn).run()
    }
}
