internal import Commands
internal import Synchronization

extension PostgreSQLStore {
    /// The first row of each kind, in each shard.
    private static let dueWork = PostgreSQLStatement(
        "due-work",
        """
        SELECT w.number, \(firstDue(from: "w.due")), \(firstPassed(from: "w.deadline", to: "$4")),
            (SELECT s.next FROM schedule s WHERE s.shard = w.number AND s.next IS NOT NULL ORDER BY s.next LIMIT 1),
            coalesce((SELECT true FROM cascade c WHERE c.shard = w.number LIMIT 1), false),
            coalesce((SELECT true FROM outbox o WHERE o.shard = w.number LIMIT 1), false),
            coalesce((SELECT true FROM inbox WHERE number > $5 LIMIT 1), false)
        FROM unnest($1::int8[]::int2[], $2::int8[], $3::int8[]) w(number, due, deadline)
        """)

    /// One round trip.
    package func dueWork(_ shards: [Int]) throws(StoreError) -> DueWork? {
        let now = clock.now()
        let (due, deadlines) = (dueMarks.begin(shards, now: now), deadlineMarks.begin(shards, now: now))
        let mark = inboxMarks.withLock { $0.beforeLast }
        var work = DueWork()
        let first = try read { transaction throws(StoreError) in
            work = DueWork()
            return try transaction.read(Self.dueWork, shards, due, deadlines, now, mark).rows { row in
                let (shard, due, deadline): (Int, Timestamp?, Timestamp?) = (row[0], row[1], row[2])
                work.add(due, of: shard, to: \.promotions, now: now)
                work.add(deadline, of: shard, to: \.deadlines, now: now)
                work.add(row[3] as Timestamp?, of: shard, to: \.schedules, now: now)
                if row[4] as Bool { work.effects.append(shard) }
                if row[5] as Bool { work.messages.append(shard) }
                if row[6] as Bool { work.hasInbox = true }
                return (shard: shard, due: due, deadline: deadline)
            }
        }
        for found in first {
            dueMarks.end(found.shard, first: found.due, now: now)
            deadlineMarks.end(found.shard, first: found.deadline, now: now)
        }
        return work
    }
}
