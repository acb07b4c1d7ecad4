package import Commands

extension PostgreSQLStore {
    package func apply(
        _ writes: [UploadWrite], group: CommitGroup, isRepetition: Bool
    ) throws(StoreError) -> [Result<UploadChange, StoreError>] {
        try check(group)
        let now = clock.now()
        // Checked before the transaction begins, because other writers wait for its end.
        let checks = writes.map { write -> Result<[UInt8]?, StoreError> in
            let check = write.check(in: self, shard: write.id.shard(of: shardCount))
            guard case .success = check, let problem = write.typeProblem(in: self) else { return check }
            return .failure(problem)
        }
        let shards = Set(writes.map { $0.id.shard(of: shardCount) })
        return try change(shards) { change throws(StoreError) in
            var results: [Result<UploadChange, StoreError>] = []
            for (write, check) in zip(writes, checks) {
                let shard = try change.shard(write.id.shard(of: shardCount))
                switch check {
                case .failure(let problem): results.append(.failure(problem))
                case .success(let digest):
                    if isRepetition, let made = write.change(madeOf: try shard.transaction.upload(write.id)) {
                        results.append(.success(made))
                    } else {
                        results.append(try shard.apply(write, digest: digest, now: now))
                    }
                }
            }
            return results
        }.0
    }

    package func upload(_ id: CommandID) throws(StoreError) -> Upload? {
        try read { transaction throws(StoreError) in try transaction.upload(id) }
    }

    package func upload(idempotencyKey key: String) throws(StoreError) -> Upload? {
        try read { transaction throws(StoreError) in
            try transaction.read(UploadSQL.byKey, key).first { row throws(StoreError) in try Upload(row) }
        }
    }

    package func holder(of key: UniqueKey, shardByte: UInt8) throws(StoreError) -> CommandID? {
        let now = clock.now()
        let found = try snapshot(shard: router.shard(of: shardByte)) { shard throws(StoreError) in
            try shard.holder(of: key, at: now)
        }
        return found?.id
    }

    package func uploadBody(_ id: CommandID) throws(StoreError) -> [UInt8]? { try body(UploadSQL.body, id) }

    package func uploads(
        shard: Int, state: UploadState?, order: CommandOrder, after: CommandID?, limit: Int
    ) throws(StoreError) -> [Upload] {
        try check(shard)
        return try uploads([shard], state, order, after: after, limit: limit)
    }

    package func uploads(state: UploadState?, after: CommandID?, limit: Int) throws(StoreError) -> [Upload] {
        try uploads(nil, state, .newestFirst, after: after, limit: limit)
    }

    /// - Parameter shards: nil: all of them.
    private func uploads(
        _ shards: [Int]?, _ state: UploadState?, _ order: CommandOrder, after: CommandID?, limit: Int
    ) throws(StoreError) -> [Upload] {
        let statement = order == .oldestFirst ? UploadSQL.after : UploadSQL.before
        let end = order == .oldestFirst ? CommandID(high: 0, low: 0) : CommandID(high: .max, low: .max)
        return try read { transaction throws(StoreError) in
            try transaction.read(statement, shards, after ?? end, state?.rawValue, max(limit, 0)).rows {
                row throws(StoreError) in try Upload(row)
            }
        }
    }

    package func dueUploads(shard: Int, limit: Int) throws(StoreError) -> [Upload] {
        try check(shard)
        return try dueUploads(in: [shard], limit: limit)
    }

    package func dueUploads(limit: Int, each: (Int, Result<[Upload], StoreError>) -> Void) {
        do throws(StoreError) {
            let due = try dueUploads(in: Array(0..<shardCount), limit: limit)
            for (shard, uploads) in Dictionary(grouping: due, by: { $0.id.shard(of: shardCount) }) {
                each(shard, .success(uploads))
            }
        } catch {
            each(0, .failure(error))
        }
    }

    private func dueUploads(in shards: [Int], limit: Int) throws(StoreError) -> [Upload] {
        let now = clock.now()
        return try read { transaction throws(StoreError) in
            try transaction.read(UploadSQL.due, shards, now, max(limit, 0)).rows { row throws(StoreError) in
                try Upload(row)
            }
        }
    }
}

private enum UploadSQL {
    private static let columns = """
        id, state, "offset", length, facts, created_at, updated_at, due, command, storage, reason, idempotency_key, fingerprint
        """
    static let byID = PostgreSQLStatement("upload", "SELECT \(columns) FROM upload WHERE id = $1")
    static let byKey = PostgreSQLStatement(
        "upload-by-key",
        "SELECT \(columns) FROM upload WHERE idempotency_key IS NOT NULL AND idempotency_key = $1")
    static let after = PostgreSQLStatement(
        "uploads-after",
        """
        SELECT \(columns) FROM upload WHERE ($1::int8[] IS NULL OR shard = ANY($1)) AND id > $2
        AND ($3::int8 IS NULL OR state = $3)
        ORDER BY id LIMIT $4
        """)
    static let before = PostgreSQLStatement(
        "uploads-before",
        """
        SELECT \(columns) FROM upload WHERE ($1::int8[] IS NULL OR shard = ANY($1)) AND id < $2
        AND ($3::int8 IS NULL OR state = $3)
        ORDER BY id DESC LIMIT $4
        """)
    static let due = PostgreSQLStatement(
        "due-uploads",
        """
        SELECT u.* FROM unnest($1::int8[]::int2[]) w(number) CROSS JOIN LATERAL (
            SELECT \(columns) FROM upload WHERE shard = w.number AND due IS NOT NULL AND due <= $2 ORDER BY due LIMIT $3) u
        """)
    static let body = PostgreSQLStatement("upload-body", "SELECT body FROM upload_body WHERE id = $1")
    static let insert = PostgreSQLStatement(
        "insert-upload",
        """
        INSERT INTO upload(\(columns), shard) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
        """)
    static let save = PostgreSQLStatement(
        "save-upload",
        """
        UPDATE upload SET state = $2, "offset" = $3, length = $4, updated_at = $5, due = $6, command = $7, storage = $8,
            reason = $9, idempotency_key = $10, fingerprint = $11 WHERE id = $1
        """)
    static let remove = PostgreSQLStatement("remove-upload", "DELETE FROM upload WHERE id = $1")
    static let insertBody = PostgreSQLStatement(
        "insert-upload-body", "INSERT INTO upload_body(id, body) VALUES ($1, $2)")
    static let removeBody = PostgreSQLStatement("remove-upload-body", "DELETE FROM upload_body WHERE id = $1")
}

extension PostgreSQLTransaction {
    fileprivate func upload(_ id: CommandID) throws(StoreError) -> Upload? {
        try read(UploadSQL.byID, id).first { row throws(StoreError) in try Upload(row) }
    }
}

/// Changes of uploads, inside a transaction.
extension PostgreSQLShard {
    /// - Parameter digest: of the command that it becomes.
    /// - Returns: a failure where the command is refused; nothing is written then.
    fileprivate func apply(
        _ write: UploadWrite, digest: [UInt8]?, now: Timestamp
    ) throws(StoreError) -> Result<UploadChange, StoreError> {
        switch write {
        case .create(let upload):
            guard try transaction.upload(upload.id) == nil else {
                return .success(UploadChange(upload: upload, isApplied: false))
            }
            try insert(upload)
            return .success(UploadChange(upload: upload, isApplied: true))
        case .store(var upload, let body, let submission):
            guard try transaction.upload(upload.id) == nil else {
                return .success(UploadChange(upload: upload, isApplied: false))
            }
            let submitted: SubmittedUpload
            switch try submit(submission, as: upload.id, digest: digest, now: now) {
            case .failure(let problem): return .failure(problem)
            case .success(let value): submitted = value
            }
            (upload.state, upload.storage, upload.command) = (.complete, .row, submitted.command)
            upload.offset = Int64(body.count)
            upload.length = upload.offset
            try insert(upload)
            try transaction.write(UploadSQL.insertBody, upload.id, body)
            return .success(UploadChange(upload: upload, isApplied: true, ready: submitted.ready))
        case .remove(let id):
            let old = try transaction.upload(id)
            try transaction.write(UploadSQL.remove, id)
            try transaction.write(UploadSQL.removeBody, id)
            return .success(UploadChange(upload: nil, isApplied: old != nil))
        case .advance, .complete, .end, .dropBytes, .postpone:
            return try change(write, digest: digest, now: now)
        }
    }

    private func change(
        _ write: UploadWrite, digest: [UInt8]?, now: Timestamp
    ) throws(StoreError) -> Result<UploadChange, StoreError> {
        guard var upload = try transaction.upload(write.id) else {
            return .success(UploadChange(upload: nil, isApplied: false))
        }
        // Before the command is inserted, so that a refused change submits nothing.
        var changed = upload
        guard changed.apply(write, command: nil, now: now) else {
            return .success(UploadChange(upload: upload, isApplied: false))
        }
        let submitted: SubmittedUpload
        switch try submit(write.submission, as: upload.id, digest: digest, now: now) {
        case .failure(let problem): return .failure(problem)
        case .success(let value): submitted = value
        }
        if case .dropBytes = write, upload.storage == .row { try transaction.write(UploadSQL.removeBody, upload.id) }
        _ = upload.apply(write, command: submitted.command, now: now)
        try transaction.write(
            UploadSQL.save, upload.id, upload.state.rawValue, upload.offset, upload.length, upload.updatedAt,
            upload.due,
            upload.command, upload.storage.rawValue, upload.reason?.withoutNUL, upload.idempotencyKey,
            upload.fingerprint?.bytes)
        return .success(UploadChange(upload: upload, isApplied: true, ready: submitted.ready))
    }

    /// Of an upload, in the transaction of its completion.
    private struct SubmittedUpload {
        var command: CommandID?
        var ready: [CommandID] = []
    }

    private func submit(
        _ submission: UploadSubmission?, as id: CommandID, digest: [UInt8]?, now: Timestamp
    ) throws(StoreError) -> Result<SubmittedUpload, StoreError> {
        switch submission {
        case nil: return .success(SubmittedUpload())
        case .command(let draft):
            let pending = PendingDraft(index: 0, draft: draft, id: id, digest: digest)
            return try insert([pending], now: now)[0].map { submission in
                SubmittedUpload(
                    command: submission.id, ready: draft.ready(submission, now: now).map { [$0.id] } ?? [])
            }
        case .flow(let plan):
            // The other ids sort after the upload's, which was made before.
            let ids = [id] + plan.newIDs(shardByte: id.shardByte, now: now)
            return try insert(plan, digest: digest, ids: ids, now: now).map {
                SubmittedUpload(command: $0.submission.id, ready: $0.ready.map(\.id))
            }
        }
    }

    private func insert(_ upload: Upload) throws(StoreError) {
        try transaction.write(
            UploadSQL.insert, upload.id, upload.state.rawValue, upload.offset, upload.length, upload.facts.json.text,
            upload.createdAt, upload.updatedAt, upload.due, upload.command, upload.storage.rawValue,
            upload.reason?.withoutNUL, upload.idempotencyKey, upload.fingerprint?.bytes, number)
    }
}

extension UploadWrite {
    /// Why its command or flow is refused: a type that no worker has ever been able to run.
    fileprivate func typeProblem(in store: PostgreSQLStore) -> StoreError? {
        let drafts: [CommandDraft] =
            switch submission {
            case nil: []
            case .command(let draft): [draft]
            case .flow(let plan): plan.drafts
            }
        do throws(StoreError) {
            for draft in drafts {
                if let problem = draft.textProblem { return problem }
                try store.requireKnown(draft.type)
            }
            return nil
        } catch {
            return error
        }
    }
}

extension Upload {
    fileprivate init(_ row: borrowing PostgreSQLRow) throws(StoreError) {
        let id: CommandID = row[0]
        let text: String = row[4]
        guard let state = UploadState(rawValue: row[1] as Int), let storage = Storage(rawValue: row[9] as Int),
            let facts = (try? JSONValue(parsing: Array(text.utf8))).flatMap({ UploadFacts($0) })
        else { throw StoreError(.corrupt, "the row of upload \(id) cannot be read", id: id) }
        self.init(id: id, length: row[3] as Int64?, facts: facts, createdAt: row[5])
        self.state = state
        self.storage = storage
        offset = row[2]
        updatedAt = row[6]
        due = row[7] as Timestamp?
        command = row[8] as CommandID?
        reason = row[10] as String?
        idempotencyKey = row[11] as String?
        fingerprint = (row[12] as [UInt8]?).flatMap { UploadFingerprint($0) }
    }
}
