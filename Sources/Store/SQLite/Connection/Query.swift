/// The SQL of the statements that each connection keeps prepared.
///
/// SQLite uses a partial index for a query only where the condition of the index is part of the query, word
/// for word.
enum Query: Int, CaseIterable {
    case begin, commit, rollback
    case newestSeq, newestTurn, addToCount, hasSession
    case setResult, deleteResult, setCheckpoint, dropCheckpoint
    case hasLeftover, leftovers, recordLeftover, dropLeftover, hastenLeftover
    case byID, byTurn, claimable, claimableByTurn
    case saveClaim, finishCached, progress, save
    case byUniqueKey, byRequestKey, releaseUniqueKey
    case transition, events
    case ready, readyLimited, readyKeyAfter, limitedKeyAfter, limitedCounts, readyByID, recordReadyAgain, hasReadyAgain,
        readyAgain, dropReadyAgain
    case dueRows, nextDue, promote, heldBack, heldBackCount, endWait, shiftBackoffs, deadlines, nextDeadline
    case inFlight, inFlightOf, cancellationRequests
    case payload, result, counts, setting, settingOf, setSetting, removeSetting, types, addType
    case sessions, openSession, closeSession, deleteSession
    case prunedThrough, setPrunedThrough, transitionsAfter, ended, deadBefore
    case node, nodesAfter, saveNode, insertNode, nodesOf, lastNodesOf, dependantsOf, dependenciesOf, dependenciesAfter,
        saveDependency,
        insertDependency, markParent
    case saveRelations, remoteDependencies, remoteDependency, saveRemoteDependency, remoteDependants,
        addRemoteDependant,
        remoteDependantNumber, removeRemoteDependant
    case post, outbox, hasOutbox, removeMessage
    case partOfBatch, partByNumber, partsAfter, insertPart, savePart, removePart, membersOf
    case flow, saveFlow, insertFlow, nextCascade, cascadeOf, saveCascade, removeCascade
    case lane, saveLane, removeLane, lanesAfter, addWaiter, removeWaiter, firstWaiter, isWaiter, waitersBefore
    case schedule, allSchedules, schedulesAfter, dueSchedules, hasDueSchedule, heldSchedules, hasHeldSchedule,
        hasSchedule, saveSchedule, holdSchedule, removeSchedule
    case upload, uploadByKey, insertUpload, saveUpload, removeUpload, uploadsAfter, uploadsBefore, openUploadsAfter,
        openUploadsBefore, dueUploads, uploadBody, insertUploadBody, removeUploadBody
    case deleteNode, deleteDependencies, deleteDependants, deleteFlow, deleteRemoteDependencies, deleteRemoteDependants
    case deleteCommand, deletePayload, previousTransition, deleteTransition, raiseSeqFloor, raiseTurnFloor

    /// The columns of a command in the order in which ``StoredCommand/init(_:_:)`` reads them.
    static let columns = """
        c.turn, c.id, c.type, c.qos, c.status, c.destination, c.idempotent, c.claim, c.cancel_requested, c.retries, \
        c.retry_limit, c.crashes, c.suspect, c.not_before, c.deadline, c.open_deadline, c.unique_key, c.fingerprint, \
        c.key_is_free, c.ordering_key, c.offset, c.total, c.seat, c.epoch, c.last, c.reason, c.created_at, \
        c.updated_at, c.dead_at, c.unique_for, c.relations, c.batch_id, c.rate_limit
        """
    static let columnCount: Int32 = 33

    private static let claimedColumns = """
        c.id, c.status, c.type, c.qos, c.destination, c.seat, c.epoch, c.claim, c.retries, c.suspect, c.updated_at, \
        c.rate_limit
        """

    /// ?1 is a time that only a clock that was set back since has passed; ?3 the name of the last that was read.
    private static let heldBySchedule =
        "FROM schedule WHERE paused = 0 AND (reason IS NOT NULL AND next IS NULL OR since > ?1) AND name > ?3"
    private static let scheduleColumns =
        "name, definition, action, since, next, last, last_id, fired, skipped, paused, reason, configured"

    private static let uploadColumns = """
        id, state, offset, length, facts, created_at, updated_at, due, command, storage, reason, idempotency_key, \
        fingerprint
        """

    /// Commands that an execution has left waiting. One that was never claimed waits for its producer's time.
    private static let heldBackBy = """
        FROM command INDEXED BY command_held_back
        WHERE not_before > 0 AND not_before > 1 AND type = ?1 AND destination = ?2 AND status IN (0, 3) AND claim > 0
        """

    /// The SQL for a shard of a version.
    func sql(version: Int) -> String { Self.adapt(sql, to: version) }

    /// Replaces the columns that a shard of this version lacks.
    static func adapt(_ sql: String, to version: Int) -> String {
        Schema.addedColumns.filter { $0.version > version }.reduce(sql) { sql, column in
            sql.replacing("c.\(column.name)", with: "NULL").replacing(column.name, with: "NULL")
        }
    }

    private var sql: String {
        switch self {
        case .begin: "BEGIN IMMEDIATE"
        case .commit: "COMMIT"
        case .rollback: "ROLLBACK"

        case .newestSeq:
            "SELECT max(ifnull((SELECT max(seq) FROM transition), 0), (SELECT value FROM meta WHERE key = 'seq'))"
        case .newestTurn:
            "SELECT max(ifnull((SELECT max(turn) FROM command), 0), (SELECT value FROM meta WHERE key = 'turn'))"
        case .addToCount: "UPDATE counts SET n = n + ?3 WHERE status = ?1 AND qos = ?2"
        case .hasSession: "SELECT 1 FROM session WHERE seat = ?1 AND epoch = ?2"

        case .setResult: "INSERT OR REPLACE INTO result(turn, body) VALUES (?1, ?2)"
        case .deleteResult: "DELETE FROM result WHERE turn = ?1"
        case .setCheckpoint: "UPDATE payload SET kept = ?2 WHERE turn = ?1"
        case .dropCheckpoint: "UPDATE payload SET kept = NULL WHERE turn = ?1"

        case .hasLeftover: "SELECT 1 FROM leftover WHERE due <= ?1 LIMIT 1"
        case .leftovers:
            """
            SELECT \(Self.columns), p.body, p.kept FROM leftover l CROSS JOIN command c ON c.turn = l.turn
            CROSS JOIN payload p ON p.turn = l.turn WHERE l.due <= ?1 ORDER BY l.due LIMIT ?2
            """
        case .recordLeftover:
            "INSERT OR REPLACE INTO leftover(turn, due) SELECT turn, ?2 FROM payload WHERE turn = ?1 AND length(kept) > 0"
        case .dropLeftover: "DELETE FROM leftover WHERE turn = ?1"
        case .hastenLeftover: "UPDATE leftover SET due = 0 WHERE turn = ?1"

        case .byID: "SELECT \(Self.columns) FROM command c WHERE c.id = ?1"
        case .byTurn: "SELECT \(Self.columns) FROM command c WHERE c.turn = ?1"
        case .claimable:
            "SELECT \(Self.columns), p.body, p.kept FROM command c CROSS JOIN payload p ON p.turn = c.turn WHERE c.id = ?1"
        case .claimableByTurn:
            "SELECT \(Self.columns), p.body, p.kept FROM command c CROSS JOIN payload p ON p.turn = c.turn WHERE c.turn = ?1"

        case .saveClaim:
            // The columns that a claim changes, where `not_before` is 0 already.
            """
            UPDATE command SET status = ?2, claim = ?3, seat = ?4, epoch = ?5, last = ?6, updated_at = ?7
            WHERE turn = ?1
            """
        case .finishCached:
            // Ends a command without a read. The conditions compare the row with what its claim left; see ``CachedClaim``.
            """
            UPDATE command SET status = 4, last = ?2, updated_at = ?3, offset = total
            WHERE turn = ?1 AND status = 2 AND claim = ?4 AND qos = ?5 AND last = ?6 AND suspect = 0
            AND cancel_requested = 0 AND ifnull(relations, 0) = ?7
            """
        case .progress: "UPDATE command SET offset = ?2, total = ?3, updated_at = ?4 WHERE turn = ?1"
        case .save:
            """
            UPDATE command SET qos = ?2, status = ?3, claim = ?4, cancel_requested = ?5, retries = ?6, crashes = ?7,
            suspect = ?8, not_before = ?9, deadline = ?10, open_deadline = ?11, key_is_free = ?12, seat = ?13,
            epoch = ?14, last = ?15, reason = ?16, updated_at = ?17, dead_at = ?18,
            offset = iif(?3 = 4, total, offset) WHERE turn = ?1
            """
        case .byUniqueKey:
            """
            SELECT id, turn, fingerprint, unique_for, created_at FROM command
            WHERE type = ?1 AND ifnull(ordering_key, '') = ?2 AND unique_key = ?3
            AND unique_key IS NOT NULL AND key_is_free = 0
            """
        case .byRequestKey:
            // SQLite searches by the first bounds that it reads. No character is above the last one of Unicode.
            """
            SELECT id, unique_key FROM command
            WHERE unique_key >= ?1 AND unique_key < ?1 || char(1114111) AND \(RequestKey.condition) ORDER BY turn DESC
            """
        case .releaseUniqueKey: "UPDATE command SET key_is_free = 1 WHERE turn = ?1"

        case .transition: "SELECT seq, id, status, at, seat, claim, reason, previous FROM transition WHERE seq = ?1"
        case .events:
            """
            SELECT t.seq, t.id, t.status, t.at, t.seat, t.claim, t.reason, c.type, c.qos, c.destination, c.retries
            FROM transition t CROSS JOIN command c ON c.id = t.id WHERE t.seq > ?1 ORDER BY t.seq LIMIT ?2
            """

        case .ready:
            """
            SELECT id, type, turn, created_at, suspect, offset, total FROM command INDEXED BY command_ready
            WHERE destination = ?1 AND qos = ?2 AND status IN (0, 3) AND not_before = 0 AND turn > ?3
            ORDER BY turn LIMIT ?4
            """
        case .readyLimited:
            """
            SELECT id, type, turn, created_at, suspect, offset, total FROM command INDEXED BY command_limited
            WHERE rate_limit = ?5 AND destination = ?1 AND qos = ?2 AND status IN (0, 3) AND not_before < 0 AND turn > ?3
            ORDER BY turn LIMIT ?4
            """
        case .limitedKeyAfter:
            // As `readyKeyAfter`.
            """
            SELECT rate_limit, destination, qos FROM (
              SELECT rate_limit, destination, qos FROM command INDEXED BY command_limited
              WHERE status IN (0, 3) AND not_before < 0 AND rate_limit = ?1 AND destination = ?2 AND qos > ?3
              ORDER BY qos LIMIT 1)
            UNION ALL
            SELECT rate_limit, destination, qos FROM (
              SELECT rate_limit, destination, qos FROM command INDEXED BY command_limited
              WHERE status IN (0, 3) AND not_before < 0 AND rate_limit = ?1 AND destination > ?2
              ORDER BY destination, qos LIMIT 1)
            UNION ALL
            SELECT rate_limit, destination, qos FROM (
              SELECT rate_limit, destination, qos FROM command INDEXED BY command_limited
              WHERE status IN (0, 3) AND not_before < 0 AND rate_limit > ?1
              ORDER BY rate_limit, destination, qos LIMIT 1)
            LIMIT 1
            """
        case .limitedCounts:
            """
            SELECT rate_limit, count(*) FROM command INDEXED BY command_limited
            WHERE status IN (0, 3) AND not_before < 0 GROUP BY rate_limit
            """
        case .readyKeyAfter:
            // Seeks from one pair to the next: 0.02 ms for 50,000 rows of a pair. `(destination, qos) > (?1, ?2)` takes
            // 11 ms, because SQLite seeks only its first column and then scans all rows of the known pair.
            """
            SELECT destination, qos FROM (
              SELECT destination, qos FROM command INDEXED BY command_ready
              WHERE status IN (0, 3) AND not_before = 0 AND destination = ?1 AND qos > ?2 ORDER BY qos LIMIT 1)
            UNION ALL
            SELECT destination, qos FROM (
              SELECT destination, qos FROM command INDEXED BY command_ready
              WHERE status IN (0, 3) AND not_before = 0 AND destination > ?1 ORDER BY destination, qos LIMIT 1)
            LIMIT 1
            """
        case .readyByID:
            """
            SELECT id, type, turn, created_at, suspect, offset, total, destination, qos, rate_limit FROM command
            WHERE id = ?1 AND status IN (0, 3) AND not_before <= 0
            """

        case .recordReadyAgain: "INSERT OR IGNORE INTO ready_again(turn) VALUES (?1)"
        case .hasReadyAgain: "SELECT 1 FROM ready_again LIMIT 1"
        case .readyAgain:
            // A row of a command that is deleted, claimed or not due has no id.
            """
            SELECT c.id, c.type, r.turn, c.created_at, c.suspect, c.offset, c.total, c.destination, c.qos, c.rate_limit
            FROM ready_again r LEFT JOIN command c ON c.turn = r.turn AND c.status IN (0, 3) AND c.not_before <= 0
            ORDER BY r.turn LIMIT ?1
            """
        case .dropReadyAgain: "DELETE FROM ready_again WHERE turn <= ?1"

        case .dueRows:
            """
            SELECT id, type, turn, created_at, suspect, offset, total, destination, qos, status, rate_limit FROM command
            INDEXED BY command_held_back WHERE not_before > 0 AND not_before <= ?1 ORDER BY not_before LIMIT ?2
            """
        case .nextDue: "SELECT min(not_before) FROM command INDEXED BY command_held_back WHERE not_before > 0"
        // See `command_limited`.
        case .promote: "UPDATE command SET not_before = iif(rate_limit IS NULL, 0, -1) WHERE turn = ?1"
        case .heldBack:
            // A row value would seek only by its first column, and then scan the rows that share it.
            """
            SELECT turn, not_before, type = ?1 AND destination = ?2 AND status IN (0, 3) AND claim > 0
            FROM command INDEXED BY command_held_back WHERE not_before > 0 AND not_before > 1
            AND not_before >= ?3 AND (not_before > ?3 OR turn > ?4) ORDER BY not_before, turn LIMIT ?5
            """
        case .heldBackCount: "SELECT count(*) \(Self.heldBackBy)"
        // Due since 1970: the next look for due rows finds it first.
        case .endWait: "UPDATE command SET not_before = 1 WHERE turn = ?1"
        case .shiftBackoffs:
            // A `new` command that was claimed before waits for as long as a destination asked. One that was never
            // claimed waits for the time of day that its producer named, and is not shifted.
            """
            UPDATE command SET not_before = max(not_before + ?1, 1)
            WHERE not_before > 0 AND (status = 3 OR status = 0 AND claim > 0) AND (?2 IS NULL OR updated_at < ?2)
            """
        case .deadlines:
            """
            SELECT \(Self.columns) FROM command c INDEXED BY command_deadline
            WHERE c.open_deadline IS NOT NULL AND c.open_deadline <= ?1 ORDER BY c.open_deadline LIMIT ?2
            """
        case .nextDeadline:
            "SELECT min(open_deadline) FROM command INDEXED BY command_deadline WHERE open_deadline IS NOT NULL"

        case .inFlight:
            """
            SELECT \(Self.claimedColumns) FROM command c INDEXED BY command_in_flight
            WHERE c.status IN (1, 2) ORDER BY c.turn
            """
        case .inFlightOf:
            """
            SELECT \(Self.columns) FROM command c INDEXED BY command_in_flight
            WHERE c.status IN (1, 2) AND c.seat = ?1 AND c.epoch = ?2 ORDER BY c.turn
            """
        case .cancellationRequests:
            """
            SELECT \(Self.claimedColumns) FROM command c INDEXED BY command_in_flight
            WHERE c.status IN (1, 2) AND c.cancel_requested = 1 ORDER BY c.turn
            """

        case .payload: "SELECT p.body FROM command c CROSS JOIN payload p ON p.turn = c.turn WHERE c.id = ?1"
        case .result: "SELECT r.body FROM command c CROSS JOIN result r ON r.turn = c.turn WHERE c.id = ?1"
        case .counts: "SELECT status, qos, n FROM counts WHERE n <> 0"
        case .setting: "SELECT key, value FROM setting WHERE substr(key, 1, length(?1)) = ?1"
        case .settingOf: "SELECT value FROM setting WHERE key = ?1"
        case .setSetting: "INSERT OR REPLACE INTO setting(key, value) VALUES (?1, ?2)"
        case .removeSetting: "DELETE FROM setting WHERE key = ?1"
        case .types: "SELECT name FROM type"
        case .addType: "INSERT OR IGNORE INTO type(name) VALUES (?1)"

        case .sessions: "SELECT seat, epoch, pid, start_time, boot_id FROM session"
        case .openSession:
            "INSERT OR REPLACE INTO session(seat, epoch, pid, start_time, boot_id) VALUES (?1, ?2, ?3, ?4, ?5)"
        case .closeSession:
            """
            DELETE FROM session WHERE seat = ?1 AND epoch = ?2 AND NOT EXISTS
            (SELECT 1 FROM command WHERE status IN (1, 2) AND seat = ?1 AND epoch = ?2)
            """
        case .deleteSession: "DELETE FROM session WHERE seat = ?1 AND epoch = ?2"

        case .prunedThrough: "SELECT value FROM meta WHERE key = 'pruned'"
        case .setPrunedThrough: "UPDATE meta SET value = ?1 WHERE key = 'pruned'"
        case .transitionsAfter: "SELECT seq, id, status, at FROM transition WHERE seq > ?1 ORDER BY seq"
        case .ended: "SELECT turn, last, status, qos, ifnull(relations, 0) FROM command WHERE id = ?1 AND last = ?2"
        case .deadBefore:
            """
            SELECT turn, last, status, qos, ifnull(relations, 0) FROM command INDEXED BY command_dead
            WHERE dead_at IS NOT NULL AND dead_at < ?1 AND status IN (?2, ?3) AND ifnull(relations, 0) & 8 = 0
            ORDER BY dead_at LIMIT ?4
            """
        case .node: "SELECT turn, flow, name, pending, flags, cause FROM node WHERE turn = ?1"
        case .nodesAfter:
            "SELECT turn, flow, name, pending, flags, cause FROM node WHERE turn > ?1 ORDER BY turn LIMIT ?2"
        case .saveNode: "UPDATE node SET pending = ?2, flags = ?3, cause = ?4 WHERE turn = ?1"
        case .insertNode: "INSERT INTO node(turn, flow, name, pending, flags) VALUES (?1, ?2, ?3, ?4, ?5)"
        case .nodesOf: "SELECT turn FROM node WHERE flow = ?1 AND turn > ?2 ORDER BY turn LIMIT ?3"
        case .lastNodesOf: "SELECT turn FROM node WHERE flow = ?1 ORDER BY turn DESC LIMIT ?2"
        case .dependantsOf:
            """
            SELECT parent, child, condition, state FROM dependency
            WHERE parent = ?1 AND child > ?2 ORDER BY child LIMIT ?3
            """
        case .dependenciesOf: "SELECT parent, child, condition, state FROM dependency WHERE child = ?1 ORDER BY parent"
        case .dependenciesAfter:
            """
            SELECT parent, child, condition, state FROM dependency WHERE child = ?1 AND parent > ?2 ORDER BY parent LIMIT ?3
            """
        case .saveDependency: "UPDATE dependency SET state = ?3 WHERE parent = ?1 AND child = ?2"
        case .insertDependency:
            "INSERT OR IGNORE INTO dependency(parent, child, condition, state) VALUES (?1, ?2, ?3, ?4)"
        case .markParent: "UPDATE command SET relations = relations | 2 WHERE turn = ?1"
        case .saveRelations: "UPDATE command SET relations = ?2 WHERE turn = ?1"
        case .remoteDependencies:
            """
            SELECT child, parent, condition, state, status, result FROM remote_dependency WHERE child = ?1 ORDER BY parent
            """
        case .remoteDependency:
            """
            SELECT child, parent, condition, state, status, result FROM remote_dependency WHERE child = ?1 AND parent = ?2
            """
        case .saveRemoteDependency:
            """
            INSERT OR REPLACE INTO remote_dependency(child, parent, condition, state, status, result)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """
        case .remoteDependants:
            """
            SELECT number, child, wants_result FROM remote_dependant INDEXED BY remote_dependant_parent
            WHERE parent = ?1 AND number > ?2 ORDER BY number LIMIT ?3
            """
        case .addRemoteDependant:
            "INSERT OR IGNORE INTO remote_dependant(parent, child, wants_result) VALUES (?1, ?2, ?3)"
        case .remoteDependantNumber: "SELECT number FROM remote_dependant WHERE parent = ?1 AND child = ?2"
        case .removeRemoteDependant: "DELETE FROM remote_dependant WHERE number = ?1"
        case .post:
            """
            INSERT INTO outbox(receiver, sender, kind, first, second, reason, result) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """
        case .outbox:
            """
            SELECT number, receiver, sender, kind, first, second, reason, result FROM outbox
            WHERE number > ?1 ORDER BY number LIMIT ?2
            """
        case .hasOutbox: "SELECT 1 FROM outbox LIMIT 1"
        case .removeMessage: "DELETE FROM outbox WHERE number = ?1"
        case .partOfBatch: "SELECT number, batch, members, open, failed, state FROM batch_part WHERE batch = ?1"
        case .partByNumber: "SELECT number, batch, members, open, failed, state FROM batch_part WHERE number = ?1"
        case .partsAfter:
            """
            SELECT number, batch, members, open, failed, state FROM batch_part WHERE number > ?1 ORDER BY number LIMIT ?2
            """
        case .insertPart: "INSERT INTO batch_part(batch, members, open, failed, state) VALUES (?1, 0, 0, 0, 0)"
        case .savePart: "UPDATE batch_part SET members = ?2, open = ?3, failed = ?4, state = ?5 WHERE number = ?1"
        case .removePart: "DELETE FROM batch_part WHERE number = ?1"
        case .membersOf:
            """
            SELECT turn FROM command INDEXED BY command_batch
            WHERE batch_id IS NOT NULL AND batch_id = ?1 AND turn > ?2 ORDER BY turn LIMIT ?3
            """
        case .flow: "SELECT turn, nodes, failed, first_failed, stops_on_failure FROM flow WHERE turn = ?1"
        case .saveFlow: "UPDATE flow SET nodes = ?2, failed = ?3, first_failed = ?4 WHERE turn = ?1"
        case .insertFlow: "INSERT INTO flow(turn, nodes, failed, stops_on_failure) VALUES (?1, ?2, 0, ?3)"
        case .nextCascade: "SELECT turn, step, after FROM cascade LIMIT 1"
        case .cascadeOf: "SELECT turn, step, after FROM cascade WHERE turn = ?1 AND step = ?2"
        case .saveCascade: "INSERT OR REPLACE INTO cascade(turn, step, after) VALUES (?1, ?2, ?3)"
        case .removeCascade: "DELETE FROM cascade WHERE turn = ?1 AND step = ?2"
        case .lane: "SELECT max, open, holder FROM lane WHERE key = ?1"
        case .saveLane: "INSERT OR REPLACE INTO lane(key, max, open, holder) VALUES (?1, ?2, ?3, ?4)"
        case .removeLane: "DELETE FROM lane WHERE key = ?1"
        case .lanesAfter:
            "SELECT key, max, open, holder FROM lane WHERE ?1 IS NULL OR key > ?1 ORDER BY key LIMIT ?2"
        case .addWaiter: "INSERT OR IGNORE INTO waiter(key, turn) VALUES (?1, ?2)"
        case .removeWaiter: "DELETE FROM waiter WHERE key = ?1 AND turn = ?2"
        case .firstWaiter: "SELECT turn FROM waiter WHERE key = ?1 ORDER BY turn LIMIT 1"
        case .isWaiter: "SELECT 1 FROM waiter WHERE key = ?1 AND turn = ?2"
        case .waitersBefore: "SELECT count(*) FROM waiter WHERE key = ?1 AND turn < ?2"
        case .schedule: "SELECT \(Self.scheduleColumns) FROM schedule WHERE name = ?1 LIMIT ?2"
        case .allSchedules: "SELECT \(Self.scheduleColumns) FROM schedule ORDER BY name LIMIT ?2"
        case .schedulesAfter:
            "SELECT \(Self.scheduleColumns) FROM schedule WHERE name > ?1 AND paused = 0 ORDER BY name LIMIT ?2"
        case .dueSchedules:
            """
            SELECT \(Self.scheduleColumns) FROM schedule WHERE next IS NOT NULL AND next <= ?1 ORDER BY next LIMIT ?2
            """
        case .hasDueSchedule: "SELECT 1 FROM schedule WHERE next IS NOT NULL AND next <= ?1 LIMIT 1"
        case .heldSchedules: "SELECT \(Self.scheduleColumns) \(Self.heldBySchedule) ORDER BY name LIMIT ?2"
        case .hasHeldSchedule: "SELECT 1 \(Self.heldBySchedule) LIMIT 1"
        case .hasSchedule: "SELECT 1 FROM schedule WHERE name > ?1 AND paused = 0 LIMIT 1"
        case .saveSchedule:
            """
            INSERT OR REPLACE INTO schedule(\(Self.scheduleColumns))
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
            """
        case .holdSchedule: "UPDATE schedule SET next = NULL, reason = ?2 WHERE name = ?1"
        case .removeSchedule: "DELETE FROM schedule WHERE name = ?1"
        case .upload: "SELECT \(Self.uploadColumns) FROM upload WHERE id = ?1"
        case .uploadByKey:
            """
            SELECT \(Self.uploadColumns) FROM upload WHERE idempotency_key IS NOT NULL AND idempotency_key = ?1
            """
        case .insertUpload:
            """
            INSERT INTO upload(\(Self.uploadColumns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
            """
        case .saveUpload:
            """
            UPDATE upload SET state = ?2, offset = ?3, length = ?4, updated_at = ?5, due = ?6, command = ?7, storage = ?8,
            reason = ?9, idempotency_key = ?10 WHERE id = ?1
            """
        case .removeUpload: "DELETE FROM upload WHERE id = ?1"
        case .uploadsAfter: "SELECT \(Self.uploadColumns) FROM upload WHERE id > ?1 ORDER BY id LIMIT ?2"
        case .uploadsBefore: "SELECT \(Self.uploadColumns) FROM upload WHERE id < ?1 ORDER BY id DESC LIMIT ?2"
        case .openUploadsAfter:
            "SELECT \(Self.uploadColumns) FROM upload WHERE state = 0 AND id > ?1 ORDER BY id LIMIT ?2"
        case .openUploadsBefore:
            "SELECT \(Self.uploadColumns) FROM upload WHERE state = 0 AND id < ?1 ORDER BY id DESC LIMIT ?2"
        case .dueUploads:
            "SELECT \(Self.uploadColumns) FROM upload WHERE due IS NOT NULL AND due <= ?1 ORDER BY due LIMIT ?2"
        case .uploadBody: "SELECT body FROM upload_body WHERE upload = ?1"
        case .insertUploadBody: "INSERT INTO upload_body(upload, body) VALUES (?1, ?2)"
        case .removeUploadBody: "DELETE FROM upload_body WHERE upload = ?1"
        case .deleteNode: "DELETE FROM node WHERE turn = ?1"
        case .deleteDependencies: "DELETE FROM dependency WHERE child = ?1"
        case .deleteDependants: "DELETE FROM dependency WHERE parent = ?1"
        case .deleteFlow: "DELETE FROM flow WHERE turn = ?1"
        case .deleteRemoteDependencies: "DELETE FROM remote_dependency WHERE child = ?1"
        case .deleteRemoteDependants: "DELETE FROM remote_dependant WHERE parent = ?1"

        case .deleteCommand: "DELETE FROM command WHERE turn = ?1 AND last = ?2"
        case .deletePayload: "DELETE FROM payload WHERE turn = ?1 RETURNING body"
        case .previousTransition: "SELECT previous FROM transition WHERE seq = ?1"
        case .deleteTransition: "DELETE FROM transition WHERE seq = ?1"
        case .raiseSeqFloor: "UPDATE meta SET value = max(value, ?1) WHERE key = 'seq'"
        case .raiseTurnFloor: "UPDATE meta SET value = max(value, ?1) WHERE key = 'turn'"
        }
    }

    // MARK: Inserts of many rows, because a statement costs as much as three rows

    /// The numbers of rows for which there is a statement, the largest first.
    static let insertSizes = [16, 4, 1]
    static let transitionSizes = [64, 16, 4, 1]

    /// Inserts of several rows. Their parameters have no numbers: for each numbered parameter SQLite searches
    /// all the others, which took 3 ms for 512.
    enum Insert {
        case commands, payloads, transitions
        /// Commands that wait for others, are a part of a flow or batch, or have an ordering key or a rate limit.
        case relatedCommands

        /// - Parameter version: of the shard. The columns that an earlier one lacks are the last parameters of a row.
        func sql(rows: Int, version: Int) -> String {
            switch self {
            case .commands:
                let added = Schema.insertedColumns.filter { $0.version <= version }
                return values(
                    """
                    INSERT INTO command(turn, id, type, qos, destination, idempotent, retry_limit, not_before, deadline,
                    open_deadline, unique_key, fingerprint, total, last, created_at, updated_at\
                    \(added.map { ", " + $0.name }.joined()), status)
                    """, "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?\(added.map { _ in ", ?" }.joined()), 0)", rows
                )
            case .relatedCommands:
                return values(
                    """
                    INSERT INTO command(turn, id, type, qos, destination, idempotent, retry_limit, not_before, deadline,
                    open_deadline, unique_key, fingerprint, total, last, created_at, updated_at, unique_for, status,
                    relations, ordering_key, batch_id, rate_limit)
                    """, "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            case .payloads: return values("INSERT INTO payload(turn, body)", "(?, ?)", rows)
            case .transitions:
                return values(
                    "INSERT INTO transition(seq, id, status, at, seat, claim, reason, previous)",
                    "(?, ?, ?, ?, ?, ?, ?, ?)", rows)
            }
        }

        private func values(_ head: String, _ row: String, _ rows: Int) -> String {
            "\(head) VALUES \([String](repeating: row, count: rows).joined(separator: ", "))"
        }
    }
}
