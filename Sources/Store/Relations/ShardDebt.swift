package import Commands

/// A message that one shard owes another and neither has. The files of the two are of different moments, as after a
/// restore: even the shards of a whole backup are copied one after the other.
///
/// To post it a second time changes nothing.
package struct ShardDebt: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// The shard of a command that waits asks for the end of its parent.
        case question
        /// The shard of a batch's members tells their end.
        /// - Parameter isSealed: no more members may come.
        case partEnd(isSealed: Bool)
        /// The shard of a cancelled batch tells that of members.
        case cancellation
        /// Members may come in this shard, and in others not any more.
        case seal
    }

    package var kind: Kind
    /// The shard that posts it.
    package var shard: Int
    /// The command that waits, or the batch.
    package var command: CommandID
    /// The command, or the part of the batch, for which it waits.
    package var parent: CommandID

    /// The finding of a health check.
    package var problem: String {
        switch kind {
        case .question: "command \(command) waits for \(parent), whose shard does not know that"
        case .partEnd: "batch \(command) waits for its members in a shard that does not know that"
        case .cancellation: "batch \(command) is cancelled, and shard \(parent.shardByte) does not know that"
        case .seal: "batch \(command) is sealed, and shard \(shard) does not know that"
        }
    }

    /// The remedy, as what was done.
    package var change: String {
        switch kind {
        case .question: "the end of \(parent) is asked for once more, for command \(command)"
        case .partEnd: "the end of the members in shard \(shard) is told to batch \(command) once more"
        case .cancellation: "shard \(parent.shardByte) is told once more that batch \(command) is cancelled"
        case .seal: "batch \(command) is sealed in shard \(shard) too"
        }
    }
}

/// A blocked command that waits for one that is not in its shard: submitted after the copy was made, or pruned since.
package struct LostParent: Sendable, Hashable {
    package var child: CommandID
    package var parent: CommandID
}

/// The difference between what the shards of a store have told each other and what they should have.
package struct ShardDebts: Sendable, Equatable {
    package var debts: Set<ShardDebt> = []
    package var lostParents: Set<LostParent> = []

    package init() {}

    package var isEmpty: Bool { debts.isEmpty && lostParents.isEmpty }

    /// Those of two comparisons. A message that was carried during one of them looks like a debt there.
    func intersection(_ other: ShardDebts) -> ShardDebts {
        var both = ShardDebts()
        both.debts = debts.intersection(other.debts)
        both.lostParents = lostParents.intersection(other.lostParents)
        return both
    }
}

extension RelationRows {
    /// Posts what a shard owes.
    mutating func post(_ debt: ShardDebt) throws(StoreError) {
        switch debt.kind {
        case .question:
            let wantsResult = try payload(of: debt.command).map(CommandDraft.mayReferToResults) ?? false
            try post(
                ShardMessage(
                    receiver: debt.parent, sender: debt.command,
                    content: .awaits(wantsResult: wantsResult, isRepeated: true)))
        case .partEnd(let isSealed):
            let stored = try part(of: debt.command)
            var row = if let stored { stored } else { try recount(partOf: debt.command) }
            // One that has ended tells it again.
            if row.state == .ended || isSealed && row.state == .open { row.state = .sealed }
            try save(row)
            try BatchPart.end(row, shard: debt.shard, &self)
        case .cancellation:
            try post(ShardMessage(receiver: debt.parent, sender: debt.command, content: .cancelPart))
        case .seal: try BatchPart.seal(debt.command, shard: debt.shard, &self)
        }
    }

    /// Makes the part of a batch of its members. Those that were pruned are not counted.
    private mutating func recount(partOf batch: CommandID) throws(StoreError) -> BatchPart {
        try save(BatchPart(batch: batch))
        guard var part = try part(of: batch) else { throw StoreError.noBatch(batch) }
        var after: Int64 = 0
        while true {
            let page = try members(of: batch, after: after, limit: 1000)
            guard let last = page.last else { return part }
            after = last
            for turn in page {
                guard let status = try command(turn: turn)?.command.status else { continue }
                part.members += 1
                if !status.isEnd { part.open += 1 } else if status != .success { part.failed += 1 }
            }
        }
    }
}
