internal import Commands

/// The rows of messages to other shards, and of what waits for them.
extension MemoryShard {
    func command(_ id: CommandID) -> StoredCommand? { rows[id] }
    mutating func saveRelations(_ command: StoredCommand) {
        guard var row = rows[command.id] else { return }
        row.relations = command.relations
        store(row)
    }

    func remoteDependencies(of child: Int64) -> [RemoteDependencyRow] {
        messages.dependencies[child, default: [:]].values.sorted { $0.parent < $1.parent }
    }
    func remoteDependency(of child: Int64, on parent: CommandID) -> RemoteDependencyRow? {
        messages.dependencies[child]?[parent]
    }
    mutating func save(_ dependency: RemoteDependencyRow) {
        messages.dependencies[dependency.child, default: [:]][dependency.parent] = dependency
    }

    func remoteDependants(of parent: Int64, after number: Int64, limit: Int) -> [RemoteDependantRow] {
        Array(messages.dependants.filter { $0.parent == parent && $0.number > number }.prefix(limit))
    }
    mutating func add(_ dependant: RemoteDependantRow) -> Int64 {
        let known = messages.dependants.first { $0.parent == dependant.parent && $0.child == dependant.child }
        if let known { return known.number }
        messages.lastNumber += 1
        var row = dependant
        row.number = messages.lastNumber
        messages.dependants.append(row)
        return row.number
    }
    mutating func remove(_ dependant: RemoteDependantRow) {
        messages.dependants.removeAll { $0.number == dependant.number }
    }

    mutating func post(_ message: ShardMessage) {
        messages.lastNumber += 1
        var message = message
        message.number = messages.lastNumber
        messages.outbox.append(message)
    }

    func part(of batch: CommandID) -> BatchPart? { messages.parts.first { $0.batch == batch } }
    func part(_ number: Int64) -> BatchPart? { messages.parts.first { $0.number == number } }
    func parts(after number: Int64, limit: Int) -> [BatchPart] {
        Array(messages.parts.filter { $0.number > number }.prefix(limit))
    }
    mutating func save(_ part: BatchPart) {
        if let index = messages.parts.firstIndex(where: { $0.batch == part.batch }) {
            messages.parts[index] = part
        } else {
            messages.lastNumber += 1
            var part = part
            part.number = messages.lastNumber
            messages.parts.append(part)
        }
    }
    func members(of batch: CommandID, after turn: Int64, limit: Int) -> [Int64] {
        let turns = rows.values.filter { $0.batch == batch && $0.command.turn > turn }.map(\.command.turn)
        return Array(turns.sorted().prefix(limit))
    }

    mutating func remove(_ received: [ShardMessage]) {
        for message in received {
            messages.outbox.removeAll { $0.number == message.number }
            // Its members may have been retried since.
            if case .partEnded = message.content {
                messages.parts.removeAll { $0.batch == message.receiver && $0.state == .ended }
            }
        }
    }

    mutating func insert(_ layout: BatchLayout) {
        for member in layout.members {
            nodes[member.node.turn] = member.node
            for dependency in member.dependencies { save(dependency) }
        }
        flows[layout.counts.turn] = layout.counts
        for part in layout.parts { save(part) }
        transaction { shard in
            for member in layout.members { shard.insert(member.row, payload: member.payload) }
        }
    }
}

/// The tables of messages of one shard.
struct MemoryMessages {
    /// By child.
    var dependencies: [Int64: [CommandID: RemoteDependencyRow]] = [:]
    /// By number.
    var dependants: [RemoteDependantRow] = []
    /// By number.
    var outbox: [ShardMessage] = []
    /// By number.
    var parts: [BatchPart] = []
    var lastNumber: Int64 = 0
}
