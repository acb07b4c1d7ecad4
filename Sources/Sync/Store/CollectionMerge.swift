internal import Commands
internal import GRDB
internal import Transfers

/// Merges the staged pages into the rows, within one transaction. Rows that were changed here are decided one
/// by one (``MergeDecision``), all others by one statement for each kind of change.
struct CollectionMerge {
    private let plan: MergePlan
    private let db: Database
    /// The revision that the merge makes if it changes a row.
    private let next: Int64
    private let decision: MergeDecision
    private var result: SyncResult
    /// The kinds of changes that the staged elements make: a pass over them for any other kind is left out.
    private var kinds: (inserts: Bool, updates: Bool, deletes: Bool) = (true, true, true)
    /// Whether the read lacks rows that it may delete.
    private var lacksRows = true

    /// Local rows that are decided at once.
    private static let batch = 500
    /// Rows of `change` that are kept.
    static let maxChanges = 200_000

    /// - Parameter db: in a transaction.
    init(_ plan: MergePlan, _ db: Database) throws {
        self.plan = plan
        self.db = db
        next = (try CollectionState.number(.rev, db) ?? 0) + 1
        decision = MergeDecision(rule: plan.payload.merge, clockOffset: plan.clockOffset)
        result = plan.result
    }

    /// - Throws: ``CommandFailure`` where the read must not be merged.
    mutating func run() throws -> MergeOutcome {
        try compare()
        var proof: ReadProof?
        switch try missingRows() {
        case .delete(let made):
            try noteMissing()
            proof = made
            // The rows that were missing long enough are deleted, although the list changed during this read too.
            if made.reads == ReadProof.maxReads { result.partial = nil }
        case .wait(let reason):
            try noteMissing()
            result.retained = reason
        case .retain(let reason): result.retained = reason
        case .checkFirstPage: return .checkFirstPage
        case .readAgain: return .readAgain
        case .refuse(let failure): throw failure
        }
        try CollectionColumns.set(plan.payload.columns, db)
        try decideLocalRows()
        if kinds.updates { try updateRows() }
        try deleteRows(missing: proof)
        if kinds.inserts { try insertRows() }
        let isChanged = result.inserted + result.updated + result.deleted > 0
        result.rev = isChanged ? next : next - 1
        try finish(isChanged: isChanged)
        return .merged(result)
    }

    // MARK: Facts

    /// Counts the records that have the bytes of their row, notes the kinds of all others, and makes sure that
    /// the rows are those with which the staged records were compared.
    private mutating func compare() throws {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT count(*) FILTER (WHERE s.kind = 0 AND r.hash = s.hash AND r.local = 0),
                    count(*) FILTER (WHERE s.kind = 0 AND s.body IS NULL
                        AND (r.key IS NULL OR r.hash <> s.hash OR r.local <> 0)),
                    count(*) FILTER (WHERE s.kind = 0 AND r.key IS NULL),
                    count(*) FILTER (WHERE s.kind = 0 AND r.hash <> s.hash AND r.local = 0),
                    count(*) FILTER (WHERE s.kind IN (1, 2) AND r.key IS NOT NULL)
                FROM stage s LEFT JOIN record r ON r.key = s.key
                """)
        result.unchanged = Int(row?.integer(0) ?? 0)
        kinds = (row?.flag(2) ?? true, row?.flag(3) ?? true, row?.flag(4) ?? true)
        guard row?.integer(1) ?? 0 == 0 else {
            throw CollectionError(
                .changed,
                "rows of the collection “\(plan.payload.collection)” were changed by another program during the "
                    + "sync; nothing was written")
        }
    }

    private mutating func missingRows() throws -> MissingRows {
        var facts = ReadFacts(
            mode: plan.payload.mode, read: plan.read, end: plan.end, paging: plan.payload.pages.by, listed: 0, rows: 0,
            missing: 0)
        facts.everyPageWas200 = plan.everyPageWas200
        facts.rejectsWithoutKey = result.rejects.countWithoutKey
        facts.duplicates = result.duplicates
        (facts.pages, facts.firstPage) = (result.pages, plan.firstPage)
        (facts.isSecondRead, facts.isSameAsFirst) = (plan.firstPrint != nil, plan.firstPrint == plan.print)
        facts.allowEmpty = plan.payload.allowEmpty
        facts.maxDelete = plan.payload.maxDelete
        if facts.mode == .replace, facts.read == .full {
            facts.listed = try number("SELECT count(*) FROM stage WHERE kind <> 2")
            facts.rows = try number("SELECT count(*) FROM record WHERE \(deletable)")
            facts.missing = try number("SELECT count(*) FROM record WHERE \(deletable) AND \(Self.isMissing)")
            lacksRows = facts.missing > 0
            try forgetOldReads()
            facts.isSameAsLast = try CollectionState.text(.print, db) == plan.print.text
            facts.missingBefore = try missed(1)
            facts.missingOften = try missed(ReadProof.maxReads - 1)
        }
        return MissingRows(facts, collection: plan.payload.collection)
    }

    /// The condition of ``MergeDecision/deletesMissing(_:)``.
    private var deletable: String { decision.deletesMissing(StoredRow(isLocal: true)) ? "TRUE" : "local = 0" }

    private static let isMissing = "NOT EXISTS (SELECT 1 FROM stage s WHERE s.key = record.key)"

    private func number(_ sql: String) throws -> Int { try Int.fetchOne(db, sql: sql) ?? 0 }

    // MARK: Earlier reads

    /// Drops the rows of `missing`, and the print, of another list, or of syncs before one of an older program.
    private func forgetOldReads() throws {
        let isCurrent =
            try CollectionState.text(.payload, db) == plan.payload.fingerprint
            && CollectionState.number(.missingAt, db) == CollectionState.number(.syncedAt, db)
        guard !isCurrent else { return }
        try db.execute(sql: "DELETE FROM missing")
        try CollectionState.set(.print, nil, db)
    }

    /// The missing rows that `reads` complete reads before this one did not list.
    private func missed(_ reads: Int) throws -> Int {
        guard lacksRows else { return 0 }
        return try number(
            "SELECT count(*) FROM record WHERE \(deletable) AND \(Self.isMissing) AND \(Self.missed(reads))")
    }

    private static func missed(_ reads: Int) -> String { "key IN (SELECT key FROM missing WHERE reads >= \(reads))" }

    /// Notes the rows that this complete read does not list.
    private func noteMissing() throws {
        try CollectionState.set(.print, plan.print.text, db)
        guard lacksRows else { return }
        try db.execute(
            sql: """
                INSERT INTO missing(key, reads) SELECT key, 1 FROM record WHERE \(deletable) AND \(Self.isMissing)
                ON CONFLICT(key) DO UPDATE SET reads = reads + 1
                """)
    }

    /// Drops the rows of `missing` that a read has listed, or that are deleted.
    private func forgetListed() throws {
        try db.execute(
            sql: """
                DELETE FROM missing WHERE key IN (SELECT key FROM stage WHERE kind <> 2)
                    OR NOT EXISTS (SELECT 1 FROM record r WHERE r.key = missing.key)
                """)
    }

    // MARK: Rows that were changed here

    private mutating func decideLocalRows() throws {
        var after = ""
        while true {
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT s.key, s.kind, s.version, s.hash = r.hash, r.remote IS s.body, r.base_rev IS NULL, r.version
                    FROM record r JOIN stage s ON s.key = r.key
                    WHERE r.local <> 0 AND s.kind < 3 AND r.key > ? ORDER BY r.key LIMIT ?
                    """, arguments: [after, Self.batch])
            for row in rows { try decide(row) }
            guard rows.count == Self.batch, let last = rows.last?.text(0) else { return }
            after = last
        }
    }

    private mutating func decide(_ row: Row) throws {
        guard let key = row.text(0) else { return }
        let isRecord = row.integer(1) == 0
        let stored = StoredRow(
            isLocal: true, isMadeHere: row.flag(5), version: row.text(6).flatMap(RecordVersion.init(stored:)),
            hasSameBody: isRecord && row.flag(3), hasSameRemote: isRecord && row.flag(4))
        let change = RemoteChange(
            isTombstone: !isRecord, version: row.text(2).flatMap(RecordVersion.init(stored:)))
        let action: MergeAction
        do throws(MergeRefusal) {
            action = try decision.action(for: change, on: stored)
        } catch {
            var failure = CommandFailure(
                .final, reason: "record \(key) of the collection “\(plan.payload.collection)”: \(error.reason)")
            failure.isAnswer = true
            throw failure
        }
        try carryOut(action, key)
    }

    private mutating func carryOut(_ action: MergeAction, _ key: String) throws {
        switch action {
        // A row exists, so nothing is inserted.
        case .insert, .none: return
        case .update:
            try db.cachedStatement(
                sql: """
                    UPDATE record SET body = s.body, hash = s.hash, version = s.version, rev = ?1, base_rev = ?1,
                        local = 0, remote = NULL
                    FROM stage s WHERE s.key = record.key AND record.key = ?2
                    """
            ).execute(arguments: [next, key])
            result.updated += 1
            try note("u", key)
        case .delete:
            try db.cachedStatement(sql: "DELETE FROM record WHERE key = ?").execute(arguments: [key])
            result.deleted += 1
            try note("d", key)
        case .settle:
            try db.cachedStatement(
                sql: """
                    UPDATE record SET version = s.version, base_rev = rev, local = 0, remote = NULL
                    FROM stage s WHERE s.key = record.key AND record.key = ?
                    """
            ).execute(arguments: [key])
            result.unchanged += 1
        case .storeRemote:
            try db.cachedStatement(
                sql: """
                    UPDATE record SET remote = s.body, base_rev = coalesce(base_rev, rev)
                    FROM stage s WHERE s.key = record.key AND record.key = ?
                    """
            ).execute(arguments: [key])
        }
    }

    private func note(_ operation: String, _ key: String) throws {
        try db.cachedStatement(sql: "INSERT INTO change(rev, key, op) VALUES (?, ?, ?)")
            .execute(arguments: [next, key, operation])
    }

    // MARK: All other rows

    /// Rows that were decided above have the revision ``next``, and are left out here.
    private static let isDifferent = """
        s.kind = 0 AND s.body IS NOT NULL AND s.key = record.key AND record.local = 0 AND record.hash <> s.hash
        """

    private mutating func updateRows() throws {
        try db.execute(
            sql: """
                INSERT INTO change(rev, key, op) SELECT ?, s.key, 'u' FROM stage s JOIN record ON \(Self.isDifferent)
                """, arguments: [next])
        guard db.changesCount > 0 else { return }
        result.updated += db.changesCount
        try db.execute(
            sql: """
                UPDATE record SET body = s.body, hash = s.hash, version = s.version, rev = ?1, base_rev = ?1
                FROM stage s WHERE \(Self.isDifferent)
                """, arguments: [next])
    }

    /// - Parameter missing: that rows which the read does not list are gone; nil: they stay.
    private mutating func deleteRows(missing: ReadProof?) throws {
        if kinds.deletes { try delete(where: "local = 0 AND key IN (SELECT key FROM stage WHERE kind IN (1, 2))") }
        guard let missing, lacksRows else { return }
        let reads = missing.reads > 1 ? " AND \(Self.missed(missing.reads))" : ""
        try delete(where: "\(deletable) AND \(Self.isMissing)\(reads)")
    }

    private mutating func delete(where condition: String) throws {
        try db.execute(
            sql: "INSERT INTO change(rev, key, op) SELECT ?, key, 'd' FROM record WHERE \(condition)", arguments: [next]
        )
        guard db.changesCount > 0 else { return }
        result.deleted += db.changesCount
        try db.execute(sql: "DELETE FROM record WHERE \(condition)")
    }

    private mutating func insertRows() throws {
        let isNew = "s.kind = 0 AND NOT EXISTS (SELECT 1 FROM record r WHERE r.key = s.key)"
        try db.execute(
            sql: "INSERT INTO change(rev, key, op) SELECT ?, s.key, 'i' FROM stage s WHERE \(isNew)", arguments: [next])
        guard db.changesCount > 0 else { return }
        result.inserted += db.changesCount
        try db.execute(
            sql: """
                INSERT INTO record(key, body, hash, version, rev, base_rev)
                SELECT s.key, s.body, s.hash, s.version, ?1, ?1 FROM stage s WHERE \(isNew)
                """, arguments: [next])
    }

    // MARK: End

    private func finish(isChanged: Bool) throws {
        if isChanged { try CollectionState.set(.rev, next, db) }
        try db.execute(sql: "DELETE FROM reject WHERE rev IS NOT NULL")
        try db.execute(sql: "UPDATE reject SET rev = ?", arguments: [result.rev])
        try Self.pruneChanges(db)
        try forgetListed()
        try CollectionStore.clearStage(db)
        let payload = plan.payload
        try CollectionState.set(.command, plan.command.description, db)
        try CollectionState.set(.result, String(decoding: result.json.bytes, as: UTF8.self), db)
        try CollectionState.set(.payload, payload.fingerprint, db)
        try CollectionState.set(.token, result.token, db)
        // Validators of a list that was not taken over whole would hide the rest.
        let validators = result.rejects.count == 0 && result.retained == nil ? plan.validators : nil
        try CollectionState.set(.etag, validators?.etag, db)
        try CollectionState.set(.lastModified, validators?.lastModified, db)
        if plan.read == .full { try CollectionState.set(.lastFull, plan.now.milliseconds, db) }
        try CollectionState.set(.syncedAt, plan.now.milliseconds, db)
        try CollectionState.set(.missingAt, plan.now.milliseconds, db)
        try CollectionState.set(.url, payload.url.displayText, db)
        try CollectionState.set(.key, JSONValue.array(payload.key.map { .string($0.text) }).text, db)
        try CollectionState.set(.version, payload.version?.text, db)
    }

    /// Deletes the oldest revisions of `change` beyond ``maxChanges`` rows.
    static func pruneChanges(_ db: Database, keeping count: Int = maxChanges) throws {
        let oldest = try Int64.fetchOne(
            db, sql: "SELECT rev FROM change ORDER BY rev DESC LIMIT 1 OFFSET ?", arguments: [count])
        guard let oldest else { return }
        try db.execute(sql: "DELETE FROM change WHERE rev <= ?", arguments: [oldest])
        try CollectionState.set(.oldestRev, oldest, db)
    }
}
