package import Commands

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
