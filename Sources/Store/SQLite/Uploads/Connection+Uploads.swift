internal import Commands

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
