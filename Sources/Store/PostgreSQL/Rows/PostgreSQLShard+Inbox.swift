internal import Commands

/// An entry of the inbox on its way to a shard.
struct InboxMove {
    /// The end of a command that does not run.
    enum End {
        case deadLetter(String)
        case cancelled(String)
    }

    enum Outcome {
        case submitted(CommandDraft, Submission)
        case ended(CommandID, End)

        var id: CommandID {
            switch self {
            case .submitted(_, let submission): submission.id
            case .ended(let id, _): id
            }
        }
    }

    var number: Int64
    var draft: PendingDraft
    var end: End?

    var id: CommandID { draft.id }

    init(number: Int64, id: CommandID, _ draft: CommandDraft) {
        self.number = number
        self.draft = PendingDraft(index: 0, draft: draft, id: id, digest: draft.digest)
    }
}

extension PostgreSQLShard {
    /// Inserts the commands of entries of this shard, in their order.
    func insert(_ moves: [InboxMove], now: Timestamp) throws(StoreError) -> [InboxMove.Outcome] {
        let submitted = moves.filter { $0.end == nil }.map(\.draft.draft)
        try loadHolders(of: submitted.compactMap(\.unique))
        try load(
            submitted.flatMap(\.dependencies).map(\.parent).filter { $0.shard(of: store.shardCount) == number })
        return try moves.map { move throws(StoreError) in try insert(move, now: now) }
    }

    private func insert(_ move: InboxMove, now: Timestamp) throws(StoreError) -> InboxMove.Outcome {
        if let end = move.end { return insert(move, endedBy: end, now: now) }
        let draft = move.draft.draft
        switch try insert([move.draft], now: now)[0] {
        case .success(let submission):
            guard submission.isExisting else { return .submitted(draft, submission) }
            let reason = "an equal command, \(submission.id), holds its unique key “\(draft.uniqueKey ?? "")”"
            return insert(move, endedBy: .cancelled(reason), now: now)
        case .failure(let error):
            if error.isPassing { throw error }
            return insert(move, endedBy: .deadLetter(error.message), now: now)
        }
    }

    private func insert(_ move: InboxMove, endedBy end: InboxMove.End, now: Timestamp) -> InboxMove.Outcome {
        let (status, reason): (CommandStatus, String) =
            switch end {
            case .cancelled(let reason): (.cancelled, reason)
            case .deadLetter(let reason): (.tooManyTimes, reason)
            }
        let draft = move.draft.draft
        let row = StoredCommand(
            draft, digest: move.draft.digest, id: move.id, turn: newTurn(), endedAs: status, reason: reason, now: now)
        insert(row, payload: draft.payload)
        return .ended(move.id, end)
    }
}

extension StoreError {
    /// Whether it is of the server or of the moment, and not of the entry that is moved.
    var isPassing: Bool {
        switch code {
        case .busy, .unreachable, .unknown, .exhausted, .overloaded, .full, .permission, .moved, .backup, .missing,
            .foreign, .unsuitable:
            true
        case .failed, .corrupt, .invalid, .conflict, .notFound, .ambiguous: false
        }
    }
}
