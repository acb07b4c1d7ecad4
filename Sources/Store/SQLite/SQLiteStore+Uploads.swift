package import Commands

extension SQLiteStore {
    package func apply(
        _ writes: [UploadWrite], group: CommitGroup, isRepetition: Bool
    ) throws(StoreError) -> [Result<UploadChange, StoreError>] {
        let number = try group.onlyShard()
        let now = clock.now()
        // Checked before the transaction begins, because other writers wait for its end.
        let checks = writes.map { $0.check(in: self, shard: number) }
        let shard = try self.shard(number)
        if writes.contains(where: \.addsBytes) { try shard.checkWALLimit(timeout: WriteTimeout.foreground) }
        return try shard.write { connection throws(StoreError) in
            guard connection.version >= Schema.firstWithRelations else { throw .uploadsNeedMigration(shard: number) }
            var results: [Result<UploadChange, StoreError>] = []
            for (write, check) in zip(writes, checks) {
                switch check {
                case .failure(let problem): results.append(.failure(problem))
                case .success(let digest):
                    if isRepetition, let made = write.change(madeOf: try connection.upload(write.id)) {
                        results.append(.success(made))
                    } else {
                        results.append(try connection.apply(write, digest: digest, now: now))
                    }
                }
            }
            return results
        }
    }

    package func upload(_ id: CommandID) throws(StoreError) -> Upload? {
        try readUploads(id.shard(of: shardCount)) { connection throws(StoreError) in try connection.upload(id) }
    }

    package func upload(idempotencyKey key: String) throws(StoreError) -> Upload? {
        for shard in 0..<shardCount {
            let found = try readUploads(shard) { connection throws(StoreError) in
                try connection.statement(.uploadByKey, key).first(Upload.init)
            }
            if let found { return found }
        }
        return nil
    }

    package func holder(of key: UniqueKey, shardByte: UInt8) throws(StoreError) -> CommandID? {
        try shard(router.shard(of: shardByte)).use { connection throws(StoreError) in
            let found = try connection.statement(.byUniqueKey, key.type, key.orderingKey, key.key)
                .first(UniqueKeyHolder.init)
            guard let found, !found.hasLapsed(at: clock.now()) || connection.isClockHeld else { return nil }
            return found.id
        }
    }

    package func uploadBody(_ id: CommandID) throws(StoreError) -> [UInt8]? {
        try readUploads(id.shard(of: shardCount)) { connection throws(StoreError) in
            try connection.statement(.uploadBody, id).first { $0.bytes(0) }
        }
    }

    package func uploads(
        shard: Int, state: UploadState?, order: CommandOrder, after: CommandID?, limit: Int
    ) throws(StoreError) -> [Upload] {
        let query: Query =
            switch (order, state) {
            case (.oldestFirst, .open): .openUploadsAfter
            case (.oldestFirst, _): .uploadsAfter
            case (.newestFirst, .open): .openUploadsBefore
            case (.newestFirst, _): .uploadsBefore
            }
        let end = order == .oldestFirst ? CommandID(high: 0, low: 0) : CommandID(high: .max, low: .max)
        return try readUploads(shard) { connection throws(StoreError) in
            var found: [Upload] = []
            var last = after ?? end
            while found.count < limit {
                let page = try connection.statement(query, last, limit).rows(Upload.init)
                found += page.filter { state == nil || $0.state == state }
                guard let next = page.last, page.count == limit else { break }
                last = next.id
            }
            return Array(found.prefix(limit))
        } ?? []
    }

    package func dueUploads(shard: Int, limit: Int) throws(StoreError) -> [Upload] {
        try readUploads(shard) { connection throws(StoreError) in
            try connection.statement(.dueUploads, clock.now(), limit).rows(Upload.init)
        } ?? []
    }

    package func isOlderThanSpool(shard: Int) throws(StoreError) -> Bool {
        try readUploads(shard) { connection throws(StoreError) in
            try connection.statement(.isOlderThanSpool).first { $0.int64(0) != 0 }
        } ?? false
    }

    package func noteSpoolCompared(shard: Int) throws(StoreError) {
        try self.shard(shard).write { connection throws(StoreError) in
            try connection.statement(.noteSpoolCompared).run()
        }
    }

    /// - Returns: nil in a shard of an earlier version, which has no uploads.
    private func readUploads<Value: Sendable>(
        _ number: Int, _ body: (Connection) throws(StoreError) -> Value?
    ) throws(StoreError) -> Value? {
        try shard(number).use { connection throws(StoreError) in
            connection.version < Schema.firstWithRelations ? nil : try body(connection)
        }
    }
}

/// The rows of uploads.
extension Connection {
    func upload(_ id: CommandID) throws(StoreError) -> Upload? {
        try statement(.upload, id).first(Upload.init)
    }

    /// - Parameter digest: of the command that it becomes.
    /// - Returns: a failure where the command is refused; nothing is written then.
    func apply(
        _ write: UploadWrite, digest: [UInt8]?, now: Timestamp
    ) throws(StoreError) -> Result<UploadChange, StoreError> {
        switch write {
        case .create(let upload):
            guard try self.upload(upload.id) == nil else {
                return .success(UploadChange(upload: upload, isApplied: false))
            }
            try insert(upload)
            return .success(UploadChange(upload: upload, isApplied: true))
        case .store(var upload, let body, let submission):
            guard try self.upload(upload.id) == nil else {
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
            try statement(.insertUploadBody, upload.id, body).run()
            return .success(UploadChange(upload: upload, isApplied: true, ready: submitted.ready))
        case .remove(let id):
            let old = try upload(id)
            try statement(.removeUpload, id).run()
            try statement(.removeUploadBody, id).run()
            return .success(UploadChange(upload: nil, isApplied: old != nil))
        case .advance, .complete, .end, .dropBytes, .postpone:
            return try change(write, digest: digest, now: now)
        }
    }

    private func change(
        _ write: UploadWrite, digest: [UInt8]?, now: Timestamp
    ) throws(StoreError) -> Result<UploadChange, StoreError> {
        guard var upload = try upload(write.id) else { return .success(UploadChange(upload: nil, isApplied: false)) }
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
        if case .dropBytes = write, upload.storage == .row {
            try statement(.removeUploadBody, upload.id).run()
        }
        _ = upload.apply(write, command: submitted.command, now: now)
        try save(upload)
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
            let pending = SQLiteStore.PendingInsert(index: 0, id: id, digest: digest)
            let result = try insert([draft], [pending], allowUnknownTypes: false, now: now)[0]
            return result.map { submission in
                SubmittedUpload(
                    command: submission.id, ready: draft.ready(submission, now: now).map { [$0.id] } ?? [])
            }
        case .flow(let plan):
            // The other ids sort after the upload's, which was made before.
            let ids = [id] + plan.newIDs(shardByte: id.shardByte, now: now)
            let result = try insert(
                plan, plan.draft, digest: digest, ids: ids, allowUnknownTypes: false, now: now)
            return result.map { SubmittedUpload(command: $0.submission.id, ready: $0.ready.map(\.id)) }
        }
    }

    private func insert(_ upload: Upload) throws(StoreError) {
        try statement(
            .insertUpload, upload.id, upload.state.rawValue, upload.offset, upload.length, upload.facts.json.text,
            upload.createdAt, upload.updatedAt, upload.due, upload.command, upload.storage.rawValue, upload.reason,
            upload.idempotencyKey, upload.fingerprint?.bytes
        ).run()
    }

    private func save(_ upload: Upload) throws(StoreError) {
        try statement(
            .saveUpload, upload.id, upload.state.rawValue, upload.offset, upload.length, upload.updatedAt, upload.due,
            upload.command, upload.storage.rawValue, upload.reason, upload.idempotencyKey, upload.fingerprint?.bytes
        ).run()
    }
}

extension Upload {
    init(_ row: Statement) throws(StoreError) {
        let id = try row.id(0)
        guard let state = UploadState(rawValue: row.int(1)), let storage = Storage(rawValue: row.int(9)),
            let facts = (try? JSONValue(parsing: row.bytes(4))).flatMap({ UploadFacts($0) })
        else { throw StoreError(.corrupt, "the row of upload \(id) cannot be read", id: id) }
        self.init(id: id, length: row.optionalInt64(3), facts: facts, createdAt: row.time(5))
        self.state = state
        self.storage = storage
        offset = row.int64(2)
        updatedAt = row.time(6)
        due = row.optionalTime(7)
        command = try row.optionalID(8)
        reason = row.optionalText(10)
        idempotencyKey = row.optionalText(11)
        fingerprint = row.optionalBytes(12).flatMap { UploadFingerprint($0) }
    }
}

/// The statements of uploads.
extension Query {
    private static let uploadColumns = """
        id, state, offset, length, facts, created_at, updated_at, due, command, storage, reason, idempotency_key, \
        fingerprint
        """

    static let upload = Query("SELECT \(uploadColumns) FROM upload WHERE id = ?1")
    static let uploadByKey = Query(
        """
        SELECT \(uploadColumns) FROM upload WHERE idempotency_key IS NOT NULL AND idempotency_key = ?1
        """)
    static let insertUpload = Query(
        """
        INSERT INTO upload(\(uploadColumns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
        """)
    static let saveUpload = Query(
        """
        UPDATE upload SET state = ?2, offset = ?3, length = ?4, updated_at = ?5, due = ?6, command = ?7, storage = ?8,
        reason = ?9, idempotency_key = ?10, fingerprint = ?11 WHERE id = ?1
        """)
    static let removeUpload = Query("DELETE FROM upload WHERE id = ?1")
    static let uploadsAfter = Query("SELECT \(uploadColumns) FROM upload WHERE id > ?1 ORDER BY id LIMIT ?2")
    static let uploadsBefore = Query("SELECT \(uploadColumns) FROM upload WHERE id < ?1 ORDER BY id DESC LIMIT ?2")
    static let openUploadsAfter = Query(
        "SELECT \(uploadColumns) FROM upload WHERE state = 0 AND id > ?1 ORDER BY id LIMIT ?2")
    static let openUploadsBefore = Query(
        "SELECT \(uploadColumns) FROM upload WHERE state = 0 AND id < ?1 ORDER BY id DESC LIMIT ?2")
    static let dueUploads = Query(
        "SELECT \(uploadColumns) FROM upload WHERE due IS NOT NULL AND due <= ?1 ORDER BY due LIMIT ?2")
    static let uploadBody = Query("SELECT body FROM upload_body WHERE upload = ?1")
    static let insertUploadBody = Query("INSERT INTO upload_body(upload, body) VALUES (?1, ?2)")
    static let removeUploadBody = Query("DELETE FROM upload_body WHERE upload = ?1")
    static let isOlderThanSpool = Query("SELECT count(*) FROM meta WHERE key = 'olderThanSpool'")
    static let noteSpoolCompared = Query("DELETE FROM meta WHERE key = 'olderThanSpool'")
}
