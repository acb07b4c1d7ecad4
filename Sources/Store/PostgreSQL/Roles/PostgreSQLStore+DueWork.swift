internal import Commands
internal import Synchronization

extension PostgreSQLStore {
    /// The first row of each kind, in each shard.
    private static let dueWork = PostgreSQLStatement(
        "due-work",
        """
        SELECT w.number,
            (SELECT p.not_before FROM parked p WHERE p.shard = w.number AND p.not_before > 0 ORDER BY p.not_before LIMIT 1),
            (SELECT a.at FROM alarm a WHERE a.shard = w.number ORDER BY a.at LIMIT 1),
            (SELECT s.next FROM schedule s WHERE s.shard = w.number AND s.next IS NOT NULL ORDER BY s.next LIMIT 1),
            coalesce((SELECT true FROM cascade c WHERE c.shard = w.number LIMIT 1), false),
            coalesce((SELECT true FROM outbox o WHERE o.shard = w.number LIMIT 1), false),
            coalesce((SELECT true FROM inbox WHERE number > $2 LIMIT 1), false)
        FROM unnest($1::int8[]::int2[]) w(number)
        """)

    /// One round trip.
    package func dueWork(_ shards: [Int]) throws(StoreError) -> DueWork? {
        let now = clock.now()
        let mark = inboxMarks.withLock { $0.beforeLast }
        return try read { transaction throws(StoreError) in
            var work = DueWork()
            _ = try transaction.read(Self.dueWork, shards, mark).rows { row in
                let shard: Int = row[0]
                work.add(row[1] as Timestamp?, of: shard, to: \.promotions, now: now)
                work.add(row[2] as Timestamp?, of: shard, to: \.deadlines, now: now)
                work.add(row[3] as Timestamp?, of: shard, to: \.schedules, now: now)
                if row[4] as Bool { work.effects.append(shard) }
                if row[5] as Bool { work.messages.append(shard) }
                if row[6] as Bool { work.hasInbox = true }
            }
            return work
        }
    }
}
