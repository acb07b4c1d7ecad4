internal import Commands

/// The transitions that one transaction on a shard adds, with their numbers, and the changes of the counts.
struct TransactionChanges {
    struct Entry {
        var transition: Transition
        /// `seq` of the command's transition before; 0 for its first. A timeline follows this chain. An index
        /// over the three rows of a command would cost 3 of its 20 µs.
        var previous: Int64
    }

    /// A change of a related command (``CommandRelations``) that concerns other commands.
    struct Related {
        enum Kind {
            case ended, reopened, flowCancelled, flowRetried
            /// It may wait for its ordering key.
            case keyAwaited
            /// It held its ordering key although it had been given up, and is cancelled.
            case keyGivenUp
            /// It is new and waits for others, or waits for them with a higher quality of service than before.
            case submitted, raised
        }

        var turn: Int64
        var kind: Kind
        /// After the change.
        var status: CommandStatus
        var relations: CommandRelations
        var at: Timestamp

        /// Others of its shard depend on it.
        var isParent: Bool { relations.contains(.parent) }
        var hasKey: Bool { relations.contains(.lane) }
        /// It has been given up, and holds its key all the same.
        var holdsKey: Bool { status == .tooManyTimes && relations.contains(.holdsKeyOnFailure) }
    }

    /// Changes of the members of a batch in this shard.
    struct Members {
        var added = 0
        var ended = 0
        var failed = 0
    }

    /// `seq` of the newest transition of the shard.
    private(set) var newestSeq: Int64 = 0
    private(set) var entries: [Entry] = []
    /// Changes whose effects on other commands are still to be written.
    private(set) var related: [Related] = []
    /// By batch.
    private(set) var members: [CommandID: Members] = [:]
    /// The time of the first related change.
    private(set) var relatedAt: Timestamp?
    /// Changes of the counts, indexed by ``cell(_:_:)``: 11 raw values of statuses × 5 of QoS.
    private(set) var countChanges = [Int](repeating: 0, count: 11 * 5)

    static func cell(_ status: CommandStatus, _ qos: QualityOfService) -> Int { status.rawValue * 5 + qos.rawValue }

    /// Starts a transaction.
    /// - Parameter seq: of the newest transition of the shard.
    mutating func begin(after seq: Int64) {
        newestSeq = seq
        entries.removeAll(keepingCapacity: true)
        related.removeAll()
        members.removeAll()
        relatedAt = nil
        for index in countChanges.indices { countChanges[index] = 0 }
    }

    mutating func removeEntries() { entries.removeAll(keepingCapacity: true) }

    /// Records a transition and returns it with its number.
    /// - Parameter previous: `seq` of the command's transition before; 0 for its first.
    mutating func record(
        _ id: CommandID, _ status: CommandStatus, at: Timestamp, seat: Int?, claim: Int, reason: String?,
        previous: Int64
    ) -> Transition {
        newestSeq += 1
        var transition = Transition(seq: newestSeq, id: id, status: status, at: at, claim: claim, reason: reason)
        transition.seat = seat
        entries.append(Entry(transition: transition, previous: previous))
        return transition
    }

    mutating func recordRelated(_ row: StoredCommand, _ kind: Related.Kind, at: Timestamp) {
        related.append(
            Related(
                turn: row.command.turn, kind: kind, status: row.command.status, relations: row.relations, at: at))
        relatedAt = relatedAt ?? at
    }

    mutating func count(_ change: Members, of batch: CommandID, at: Timestamp) {
        var members = self.members[batch] ?? Members()
        members.added += change.added
        members.ended += change.ended
        members.failed += change.failed
        self.members[batch] = members
        relatedAt = relatedAt ?? at
    }

    mutating func takeMembers() -> [CommandID: Members] {
        defer { members.removeAll() }
        return members
    }

    mutating func takeRelated() -> [Related] {
        defer { related.removeAll() }
        return related
    }

    mutating func addToCount(_ change: Int, _ status: CommandStatus, _ qos: QualityOfService) {
        countChanges[Self.cell(status, qos)] += change
    }
}
