package import Commands

extension MemoryStore {
    package func apply(
        _ writes: [UploadWrite], group: CommitGroup, isRepetition: Bool
    ) throws(StoreError) -> [Result<UploadChange, StoreError>] {
        let number = try group.onlyShard()
        let now = clock.now()
        let checks = writes.map { $0.check(in: self, shard: number) }
        let types = types()
        return try withShard(number) { shard in
            zip(writes, checks).map { write, check in
                check.flatMap { digest in
                    if isRepetition, let made = write.change(madeOf: shard.uploads[write.id]) { return .success(made) }
                    return shard.apply(write, digest: digest, types: types, now: now)
                }
            }
        }
    }

    package func upload(_ id: CommandID) throws(StoreError) -> Upload? {
        try withShard(id.shard(of: shardCount)) { $0.uploads[id] }
    }

    package func upload(idempotencyKey key: String) throws(StoreError) -> Upload? {
        for shard in 0..<shardCount {
            if let found = try withShard(shard, { $0.uploads.values.first { $0.idempotencyKey == key } }) {
                return found
            }
        }
        return nil
    }

    package func holder(of key: UniqueKey, shardByte: UInt8) throws(StoreError) -> CommandID? {
        try withShard(router.shard(of: shardByte)) { $0.holder(of: key, at: clock.now())?.id }
    }

    package func uploadBody(_ id: CommandID) throws(StoreError) -> [UInt8]? {
        try withShard(id.shard(of: shardCount)) { $0.uploadBodies[id] }
    }

    package func uploads(
        shard: Int, state: UploadState?, order: CommandOrder, after: CommandID?, limit: Int
    ) throws(StoreError) -> [Upload] {
        try withShard(shard) { shard in
            let found = shard.uploads.values.filter { upload in
                (state == nil || upload.state == state) && (after.map { order.precedes($0, upload.id) } ?? true)
            }
            return Array(found.sorted { order.precedes($0.id, $1.id) }.prefix(max(limit, 0)))
        }
    }

    package func dueUploads(shard: Int, limit: Int) throws(StoreError) -> [Upload] {
        let now = clock.now()
        return try withShard(shard) { shard in
            let due = shard.uploads.values.compactMap { upload in upload.due.map { (due: $0, upload: upload) } }
            return due.filter { $0.due <= now }.sorted { $0.due < $1.due }.prefix(max(limit, 0)).map(\.upload)
        }
    }
}

extension MemoryShard {
    fileprivate mutating func apply(
        _ write: UploadWrite, digest: [UInt8]?, types: Set<String>, now: Timestamp
    ) -> Result<UploadChange, StoreError> {
        switch write {
        case .create(let upload):
            guard uploads[upload.id] == nil else { return .success(UploadChange(upload: upload, isApplied: false)) }
            uploads[upload.id] = upload
            return .success(UploadChange(upload: upload, isApplied: true))
        case .store(let new, let body, let submission):
            guard uploads[new.id] == nil else { return .success(UploadChange(upload: new, isApplied: false)) }
            return submit(submission, as: new.id, digest: digest, types: types, now: now).map { command, ready in
                var upload = new
                (upload.state, upload.storage, upload.command) = (.complete, .row, command)
                upload.offset = Int64(body.count)
                upload.length = upload.offset
                uploads[upload.id] = upload
                uploadBodies[upload.id] = body
                return UploadChange(upload: upload, isApplied: true, ready: ready)
            }
        case .remove(let id):
            let old = uploads.removeValue(forKey: id)
            uploadBodies[id] = nil
            return .success(UploadChange(upload: nil, isApplied: old != nil))
        case .advance, .complete, .end, .dropBytes, .postpone:
            guard let old = uploads[write.id] else { return .success(UploadChange(upload: nil, isApplied: false)) }
            var changed = old
            guard changed.apply(write, command: nil, now: now) else {
                return .success(UploadChange(upload: old, isApplied: false))
            }
            return submit(write.submission, as: write.id, digest: digest, types: types, now: now).map {
                command, ready in
                if case .dropBytes = write { uploadBodies[write.id] = nil }
                var upload = old
                _ = upload.apply(write, command: command, now: now)
                uploads[upload.id] = upload
                return UploadChange(upload: upload, isApplied: true, ready: ready)
            }
        }
    }

    private mutating func submit(
        _ submission: UploadSubmission?, as id: CommandID, digest: [UInt8]?, types: Set<String>, now: Timestamp
    ) -> Result<(CommandID?, [CommandID]), StoreError> {
        switch submission {
        case nil: return .success((nil, []))
        case .command(let draft):
            guard types.contains(draft.type) else { return .failure(.unknownType(draft.type, known: types)) }
            return insert(draft, digest: digest, id: id, now: now).map { submission in
                (submission.id, draft.ready(submission, now: now).map { [$0.id] } ?? [])
            }
        case .flow(let plan):
            if let unknown = plan.drafts.first(where: { !types.contains($0.type) }) {
                return .failure(.unknownType(unknown.type, known: types))
            }
            do throws(StoreError) {
                let ids = [id] + plan.newIDs(shardByte: id.shardByte, now: now)
                let flow = try submit(plan, ids: ids, now: now)
                return .success((flow.submission.id, flow.ready.map(\.id)))
            } catch {
                return .failure(error)
            }
        }
    }
}
