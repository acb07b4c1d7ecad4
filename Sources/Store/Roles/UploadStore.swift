package import Commands

/// The calls of the door. An upload lies in the shard of its id, as the command does that it becomes.
package protocol UploadStore: ShardedStore {
    /// Changes uploads in one commit of a group, in order, durable when this returns.
    ///
    /// An upload lies in the shard of its id, one of `group`. A completion and the command that it submits are one
    /// change: where the command is refused, the upload stays open.
    /// - Parameter isRepetition: see ``CommitAttempt/isRepetition``.
    /// - Returns: one result for each write, in order. A failed one does not affect the others.
    /// - Throws: `unknown`: the writes are all durable, or none is. After any other error nothing is written in any shard.
    func apply(_ writes: [UploadWrite], group: CommitGroup, isRepetition: Bool) throws(StoreError)
        -> [Result<UploadChange, StoreError>]
    /// Nil where there is no such upload.
    func upload(_ id: CommandID) throws(StoreError) -> Upload?
    /// The upload whose creation had the idempotency key; nil where there is none.
    func upload(idempotencyKey: String) throws(StoreError) -> Upload?
    /// The command that holds a unique key; nil where the key is free.
    /// - Parameter shardByte: of the ids of its commands.
    func holder(of key: UniqueKey, shardByte: UInt8) throws(StoreError) -> CommandID?
    /// The bytes of an upload that the shard keeps; nil where it keeps none.
    func uploadBody(_ id: CommandID) throws(StoreError) -> [UInt8]?
    /// Uploads of a shard in the order of their ids, or in the reverse order, at most `limit`.
    /// - Parameters:
    ///   - state: nil: any.
    ///   - after: excluded; nil starts at the first.
    func uploads(shard: Int, state: UploadState?, order: CommandOrder, after: CommandID?, limit: Int) throws(StoreError)
        -> [Upload]
    /// Uploads of all usable shards, the newest first, at most `limit`.
    /// - Parameters:
    ///   - state: nil: any.
    ///   - after: excluded; nil starts at the newest.
    func uploads(state: UploadState?, after: CommandID?, limit: Int) throws(StoreError) -> [Upload]
    /// Uploads whose ``Upload/due`` has come, the first due first, at most `limit`.
    func dueUploads(shard: Int, limit: Int) throws(StoreError) -> [Upload]
    /// ``dueUploads(shard:limit:)`` of every shard.
    /// - Parameter each: gets those of a shard, where it has some or cannot be read.
    func dueUploads(limit: Int, each: (Int, Result<[Upload], StoreError>) -> Void)
    /// The id of the store, which its spool has too; nil for a store without one, or while no shard can be read.
    func storeID() throws(StoreError) -> String?
    /// Whether an older copy took the place of the shard, by a restore or an adoption, and the spool was not compared with
    /// it since. A file in the spool may have bytes then that were acknowledged, and of which no row knows.
    func isOlderThanSpool(shard: Int) throws(StoreError) -> Bool
    /// Notes that the spool was compared with the shard.
    func noteSpoolCompared(shard: Int) throws(StoreError)
}

extension UploadStore {
    /// ``apply(_:group:isRepetition:)``, repeated while the outcome is unknown.
    package func apply(
        _ writes: [UploadWrite], group: CommitGroup
    ) throws(StoreError) -> [Result<UploadChange, StoreError>] {
        try untilKnown { isRepetition throws(StoreError) in
            try apply(writes, group: group, isRepetition: isRepetition)
        }
    }

    package func storeID() throws(StoreError) -> String? { nil }
    package func isOlderThanSpool(shard: Int) throws(StoreError) -> Bool { false }
    package func noteSpoolCompared(shard: Int) throws(StoreError) {}
}

/// One shard after the other, for stores to which a call costs little. The calls of a shard that is unusable are left out.
extension UploadStore {
    package func uploads(state: UploadState?, after: CommandID?, limit: Int) throws(StoreError) -> [Upload] {
        let found = try mapShards(or: []) { shard throws(StoreError) in
            try uploads(shard: shard, state: state, order: .newestFirst, after: after, limit: limit)
        }
        return Array(found.joined().sorted { $0.id > $1.id }.prefix(limit))
    }

    package func dueUploads(limit: Int, each: (Int, Result<[Upload], StoreError>) -> Void) {
        for shard in 0..<shardCount {
            let due = Result { () throws(StoreError) in try dueUploads(shard: shard, limit: limit) }
            if case .success(let uploads) = due, uploads.isEmpty { continue }
            each(shard, due)
        }
    }
}

/// A change of an upload, one of several in a transaction.
package enum UploadWrite: Sendable {
    /// Adds an open upload.
    case create(Upload)
    /// Adds a complete upload that is small enough for the shard, with its bytes and the command that it becomes.
    case store(Upload, body: [UInt8], UploadSubmission?)
    /// Raises the durable offset of an open upload, and sets its length where that was not known.
    case advance(CommandID, offset: Int64, length: Int64?, due: Timestamp?)
    /// Completes an open upload of this length, and submits the command that it becomes. The SHA-256 of its bytes goes into
    /// the fingerprint of one with an idempotency key.
    case complete(CommandID, length: Int64, UploadSubmission?, due: Timestamp?, sha256: [UInt8]? = nil)
    /// Ends an upload that has not become a command.
    case end(CommandID, reason: String, due: Timestamp?)
    /// Its bytes are deleted from the spool, or are deleted from the shard here.
    case dropBytes(CommandID)
    /// Looks at it again at another time.
    case postpone(CommandID, due: Timestamp?)
    /// Deletes the row.
    case remove(CommandID)

    package var id: CommandID {
        switch self {
        case .create(let upload), .store(let upload, _, _): upload.id
        case .advance(let id, _, _, _), .complete(let id, _, _, _, _), .end(let id, _, _), .dropBytes(let id),
            .postpone(let id, _), .remove(let id):
            id
        }
    }

    /// The outcome of a write that is repeated, because that of its commit is unknown, and was made the first time.
    /// - Parameter upload: the row now; nil where there is none.
    /// - Returns: nil where it is to be made now.
    func change(madeOf upload: Upload?) -> UploadChange? {
        let isMade =
            switch (self, upload) {
            case (.create, let upload), (.store, let upload): upload != nil
            case (.advance(_, let offset, _, _), let upload?): upload.state == .complete && upload.offset >= offset
            case (.complete(_, let length, _, _, _), let upload?): upload.state == .complete && upload.offset == length
            case (.end(_, let reason, _), let upload?): upload.state == .ended && upload.reason == reason
            case (.remove, nil): true
            default: false
            }
        guard isMade else { return nil }
        return UploadChange(
            upload: upload, isApplied: true, ready: submission == nil ? [] : upload?.command.map { [$0] } ?? [])
    }

    /// The command or flow that the write submits; nil where it submits none.
    var submission: UploadSubmission? {
        switch self {
        case .store(_, _, let submission), .complete(_, _, let submission, _, _): submission
        case .create, .advance, .end, .dropBytes, .postpone, .remove: nil
        }
    }
}

/// The command or flow that an upload becomes. It gets the id of the upload, so the upload lies in the shard that its
/// keys demand.
package enum UploadSubmission: Sendable {
    case command(CommandDraft)
    case flow(FlowPlan)

    /// The last byte of the upload's id; nil where it is free.
    package var shardByte: UInt8? {
        switch self {
        case .command(let draft): draft.shardByte
        case .flow(let plan): plan.draft.shardByte
        }
    }
}

/// The result of an ``UploadWrite``.
package struct UploadChange: Sendable, Equatable {
    /// The row after the write; nil where there is none.
    package var upload: Upload?
    /// False where the state of the upload did not allow the write.
    package var isApplied: Bool
    /// The commands that may run now.
    package var ready: [CommandID] = []
}

/// The rules of each change, for all stores.
extension Upload {
    /// - Returns: false where the state does not allow the change; nothing is changed then.
    mutating func apply(_ write: UploadWrite, command: CommandID?, now: Timestamp) -> Bool {
        switch write {
        case .create, .store, .remove: return false
        case .advance(_, let offset, let length, let due):
            guard state == .open, offset >= self.offset, allows(length), offset <= (length ?? self.length ?? offset)
            else { return false }
            self.offset = offset
            self.length = length ?? self.length
            self.due = due
        case .complete(_, let length, _, let due, let sha256):
            guard state == .open, allows(length), length >= offset else { return false }
            state = .complete
            (offset, self.length, self.command, self.due) = (length, length, command, due)
            if let sha256 { fingerprint?.content = sha256 }
        case .end(_, let reason, let due):
            guard state != .ended, self.command == nil else { return false }
            state = .ended
            (self.reason, self.due) = (reason, due)
            // A repeated request makes a new one.
            idempotencyKey = nil
        case .dropBytes:
            guard state != .open else { return false }
            storage = .none
        case .postpone(_, let due): self.due = due
        }
        updatedAt = max(updatedAt, now)
        return true
    }

    private func allows(_ length: Int64?) -> Bool { length == nil || self.length == nil || length == self.length }
}

extension UploadWrite {
    /// Whether the write makes the shard much larger.
    var addsBytes: Bool {
        switch self {
        case .create, .store, .complete: true
        case .advance, .end, .dropBytes, .postpone, .remove: false
        }
    }

    /// The checks of a submit that need no transaction.
    /// - Returns: the digest of the draft; nil where its unique key needs none.
    func check(in store: some CommandStore, shard: Int) -> Result<[UInt8]?, StoreError> {
        guard id.shard(of: store.shardCount) == shard else {
            return .failure(StoreError(.invalid, "Upload \(id) does not lie in shard \(shard).", id: id))
        }
        switch submission {
        case nil: return .success(nil)
        case .command(let draft):
            let problem =
                draft.problem ?? draft.dependencyProblem ?? LimitCheck([draft], in: store).problem(of: draft)
                ?? problem(of: submission?.shardByte, shardCount: store.shardCount)
            if let problem { return .failure(problem) }
            guard draft.dependencies.isEmpty else {
                return .failure(StoreError(.invalid, "The command of an upload waits for no other.", id: id))
            }
            return .success(draft.digest)
        case .flow(let plan):
            let draft = plan.draft
            let problem =
                draft.problem ?? plan.problem ?? problem(of: submission?.shardByte, shardCount: store.shardCount)
            if let problem { return .failure(problem) }
            do throws(StoreError) {
                try LimitCheck(plan.drafts, in: store).check(plan)
                return .success(draft.digest)
            } catch {
                return .failure(error)
            }
        }
    }

    /// A key outside of its shard would not be unique.
    private func problem(of byte: UInt8?, shardCount: Int) -> StoreError? {
        guard let byte, Int(byte) & (shardCount - 1) != id.shard(of: shardCount) else { return nil }
        return StoreError(.invalid, "Upload \(id) does not lie in the shard of its key.", id: id)
    }
}

extension FlowPlan {
    /// Ids for its nodes and callbacks, in ascending order.
    func newIDs(shardByte: UInt8, now: Timestamp) -> [CommandID] {
        var random = BufferedRandom()
        return (0..<nodes.count + flow.callbacks.count).map { _ in
            CommandID(now: now, shardByte: shardByte, using: &random)
        }.sorted()
    }
}

extension StoreError {
    static func uploadsNeedMigration(shard: Int) -> StoreError {
        StoreError(
            .overloaded,
            "Shard \(shard) has the version of an earlier release, which has no uploads. The coordinator migrates the store "
                + "when no worker of that release runs; try again then.", shard: shard)
    }
}
