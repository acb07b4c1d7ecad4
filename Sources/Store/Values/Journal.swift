internal import Commands

/// What one transaction on a shard adds: transitions with their numbers, and by how much the counts change.
struct Journal {
    struct Entry {
        var transition: Transition
        /// `seq` of the command's transition before; 0 for its first. The timeline follows this chain, which costs a
        /// number where an index over three rows a command would cost 3 µs of the 20.
        var previous: Int64
    }

    /// The newest number given.
    private(set) var seq: Int64 = 0
    private(set) var entries: [Entry] = []
    /// Changes of the counts, at ``cell(_:_:)``.
    private(set) var deltas = [Int](repeating: 0, count: 11 * 5)

    static func cell(_ status: CommandStatus, _ qos: QualityOfService) -> Int { status.rawValue * 5 + qos.rawValue }

    /// Starts a transaction behind the transition `seq`.
    mutating func begin(after seq: Int64) {
        self.seq = seq
        entries.removeAll(keepingCapacity: true)
        for index in deltas.indices { deltas[index] = 0 }
    }

    mutating func clearEntries() { entries.removeAll(keepingCapacity: true) }

    /// Records a transition and returns it with its number.
    mutating func record(
        _ id: CommandID, _ status: CommandStatus, at: Timestamp, seat: Int?, claim: Int, reason: String?,
        previous: Int64
    ) -> Transition {
        seq += 1
        let transition = Transition(
            seq: seq, id: id, status: status, at: at, seat: seat, claim: claim, reason: reason)
        entries.append(Entry(transition: transition, previous: previous))
        return transition
    }

    mutating func add(_ change: Int, to status: CommandStatus, _ qos: QualityOfService) {
        deltas[Self.cell(status, qos)] += change
    }
}
