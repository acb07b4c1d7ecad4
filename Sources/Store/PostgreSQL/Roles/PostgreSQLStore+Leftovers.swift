package import Commands

extension PostgreSQLStore {
    private static let dueLeftovers = PostgreSQLStatement(
        "due-leftovers",
        """
        SELECT w.id, c.payload, (SELECT k.state FROM kept k WHERE k.id = w.id LIMIT 1)
        FROM (SELECT id FROM leftover WHERE shard = $1 AND due <= $2 ORDER BY due, id LIMIT $3) w
        JOIN LATERAL (SELECT payload FROM command WHERE id = w.id LIMIT 1) c ON true
        """)
    private static let shardsWithLeftovers = PostgreSQLStatement(
        "shards-with-leftovers",
        """
        SELECT w.number FROM unnest($1::int8[]::int2[]) w(number)
        JOIN LATERAL (SELECT 1 FROM leftover l WHERE l.shard = w.number AND l.due <= $2 LIMIT 1) l ON true
        """)
    private static let removeLeftovers = PostgreSQLStatement(
        "drop-leftovers", "DELETE FROM leftover WHERE id = ANY($1::uuid[])")
    private static let dropCheckpoints = PostgreSQLStatement(
        "drop-checkpoints", "DELETE FROM kept WHERE id = ANY($1::uuid[])")

    package func shardsWithLeftovers() throws(StoreError) -> [Int] { try shardsWithLeftovers(Array(0..<shardCount)) }

    private func shardsWithLeftovers(_ shards: [Int]) throws(StoreError) -> [Int] {
        let now = clock.now()
        return try read { transaction throws(StoreError) in
            try transaction.read(Self.shardsWithLeftovers, shards, now).rows { row in row[0] as Int }
        }
    }

    package func cleanUp(
        shard number: Int, limit: Int, _ cleanup: (Leftover) -> CommandDraft?
    ) throws(StoreError) -> Int {
        try check(number)
        guard try !shardsWithLeftovers([number]).isEmpty, !isClockHeld else { return 0 }
        let now = clock.now()
        return try change(shard: number, timeout: WriteTimeout.foreground) { shard throws(StoreError) in
            let transaction = shard.transaction
            let found = try transaction.read(Self.dueLeftovers, number, now, max(limit, 0)).rows { row in
                (id: row[0] as CommandID, payload: row[1] as [UInt8], checkpoint: row[2] as [UInt8]?)
            }
            try shard.load(found.map(\.id))
            var cleaned: [CommandID] = []
            var drafts: [PendingDraft] = []
            for entry in found {
                guard let row = try shard.command(entry.id) else { continue }
                let leftover = Leftover(
                    command: row.command, payload: entry.payload, checkpoint: entry.checkpoint ?? [])
                guard leftover.isOfEnded, let draft = cleanup(leftover), draft.problem == nil else { continue }
                // A retry of the command begins anew, so it never uses what the draft removes.
                cleaned.append(entry.id)
                drafts.append(
                    PendingDraft(
                        index: drafts.count, draft: draft, id: CommandID(now: now, shardByte: entry.id.shardByte),
                        digest: draft.digest))
            }
            try transaction.write(Self.removeLeftovers, found.map(\.id))
            try transaction.write(Self.dropCheckpoints, cleaned)
            for result in try shard.insert(drafts, now: now) { _ = try result.get() }
            return found.count
        }.0
    }
}
