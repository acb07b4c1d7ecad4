internal import Commands

/// The rows of messages to other shards, and of what waits for them.
extension Connection {
    func command(_ id: CommandID) throws(StoreError) -> StoredCommand? { try find(id) }

    func saveRelations(_ command: StoredCommand) throws(StoreError) {
        let statement = try statement(.saveRelations)
        statement.bind(command.command.turn, at: 1)
        statement.bind(command.relations.rawValue, at: 2)
        try statement.run()
    }

    func remoteDependencies(of child: Int64) throws(StoreError) -> [RemoteDependencyRow] {
        let statement = try statement(.remoteDependencies)
        statement.bind(child, at: 1)
        return try remoteDependencies(statement)
    }

    func remoteDependency(of child: Int64, on parent: CommandID) throws(StoreError) -> RemoteDependencyRow? {
        let statement = try statement(.remoteDependency)
        statement.bind(child, at: 1)
        statement.bind(parent, at: 2)
        return try remoteDependencies(statement).first
    }

    private func remoteDependencies(_ statement: Statement) throws(StoreError) -> [RemoteDependencyRow] {
        defer { statement.reset() }
        var found: [RemoteDependencyRow] = []
        while try statement.step() {
            guard let condition = DependencyCondition(rawValue: statement.int(2)),
                let state = DependencyRow.State(rawValue: statement.int(3))
            else { throw StoreError(.corrupt, "a dependency has the condition \(statement.int(2))") }
            found.append(
                RemoteDependencyRow(
                    child: statement.int64(0), parent: try statement.id(1), condition: condition, state: state,
                    status: statement.isNull(4) ? nil : try statement.status(4), result: statement.optionalBytes(5)))
        }
        return found
    }

    func save(_ dependency: RemoteDependencyRow) throws(StoreError) {
        let statement = try statement(.saveRemoteDependency)
        statement.bind(dependency.child, at: 1)
        statement.bind(dependency.parent, at: 2)
        statement.bind(dependency.condition.rawValue, at: 3)
        statement.bind(dependency.state.rawValue, at: 4)
        statement.bind(dependency.status.map { Int64($0.rawValue) }, at: 5)
        statement.bind(dependency.result, at: 6)
        try statement.run()
    }

    func remoteDependants(
        of parent: Int64, after number: Int64, limit: Int
    ) throws(StoreError) -> [RemoteDependantRow] {
        let statement = try statement(.remoteDependants)
        statement.bind(parent, at: 1)
        statement.bind(number, at: 2)
        statement.bind(limit, at: 3)
        defer { statement.reset() }
        var found: [RemoteDependantRow] = []
        while try statement.step() {
            found.append(
                RemoteDependantRow(
                    number: statement.int64(0), parent: parent, child: try statement.id(1),
                    wantsResult: statement.bool(2)))
        }
        return found
    }

    func add(_ dependant: RemoteDependantRow) throws(StoreError) -> Int64 {
        let add = try statement(.addRemoteDependant)
        add.bind(dependant.parent, at: 1)
        add.bind(dependant.child, at: 2)
        add.bind(dependant.wantsResult, at: 3)
        try add.run()
        let look = try statement(.remoteDependantNumber)
        look.bind(dependant.parent, at: 1)
        look.bind(dependant.child, at: 2)
        defer { look.reset() }
        return try look.step() ? look.int64(0) : 0
    }

    func remove(_ dependant: RemoteDependantRow) throws(StoreError) {
        let statement = try statement(.removeRemoteDependant)
        statement.bind(dependant.number, at: 1)
        try statement.run()
    }

    // MARK: Outbox

    func post(_ message: ShardMessage) throws(StoreError) {
        let columns = MessageColumns(message.content)
        let statement = try statement(.post)
        statement.bind(message.receiver, at: 1)
        statement.bind(message.sender, at: 2)
        statement.bind(columns.kind.rawValue, at: 3)
        statement.bind(columns.first, at: 4)
        statement.bind(columns.second, at: 5)
        statement.bind(columns.reason, at: 6)
        statement.bind(columns.result, at: 7)
        try statement.run()
    }

    func outbox(after number: Int64, limit: Int) throws(StoreError) -> [ShardMessage] {
        let statement = try statement(.outbox)
        statement.bind(number, at: 1)
        statement.bind(limit, at: 2)
        defer { statement.reset() }
        var messages: [ShardMessage] = []
        while try statement.step() {
            guard let kind = MessageColumns.Kind(rawValue: statement.int(3)) else {
                throw StoreError(.corrupt, "a message has the kind \(statement.int(3))")
            }
            let columns = MessageColumns(
                kind: kind, first: statement.optionalInt64(4), second: statement.optionalInt64(5),
                reason: statement.optionalText(6), result: statement.optionalBytes(7))
            messages.append(
                ShardMessage(
                    number: statement.int64(0), receiver: try statement.id(1), sender: try statement.id(2),
                    content: try columns.content))
        }
        return messages
    }

    func removeMessage(_ number: Int64) throws(StoreError) {
        let statement = try statement(.removeMessage)
        statement.bind(number, at: 1)
        try statement.run()
    }

    // MARK: Parts of batches

    func part(of batch: CommandID) throws(StoreError) -> BatchPart? {
        let statement = try statement(.partOfBatch)
        statement.bind(batch, at: 1)
        return try parts(statement).first
    }

    func part(_ number: Int64) throws(StoreError) -> BatchPart? {
        let statement = try statement(.partByNumber)
        statement.bind(number, at: 1)
        return try parts(statement).first
    }

    func parts(after number: Int64, limit: Int) throws(StoreError) -> [BatchPart] {
        let statement = try statement(.partsAfter)
        statement.bind(number, at: 1)
        statement.bind(limit, at: 2)
        return try parts(statement)
    }

    private func parts(_ statement: Statement) throws(StoreError) -> [BatchPart] {
        defer { statement.reset() }
        var found: [BatchPart] = []
        while try statement.step() {
            guard let state = BatchPart.State(rawValue: statement.int(5)) else {
                throw StoreError(.corrupt, "a part of a batch has the state \(statement.int(5))")
            }
            found.append(
                BatchPart(
                    number: statement.int64(0), batch: try statement.id(1), members: statement.int(2),
                    open: statement.int(3), failed: statement.int(4), state: state))
        }
        return found
    }

    func save(_ part: BatchPart) throws(StoreError) {
        let statement = try statement(part.number == 0 ? .insertPart : .savePart)
        if part.number == 0 {
            statement.bind(part.batch, at: 1)
        } else {
            statement.bind(part.number, at: 1)
            statement.bind(part.members, at: 2)
            statement.bind(part.open, at: 3)
            statement.bind(part.failed, at: 4)
            statement.bind(part.state.rawValue, at: 5)
        }
        try statement.run()
    }

    func remove(_ part: BatchPart) throws(StoreError) {
        let statement = try statement(.removePart)
        statement.bind(part.number, at: 1)
        try statement.run()
    }

    func members(of batch: CommandID, after turn: Int64, limit: Int) throws(StoreError) -> [Int64] {
        let statement = try statement(.membersOf)
        statement.bind(batch, at: 1)
        statement.bind(turn, at: 2)
        statement.bind(limit, at: 3)
        defer { statement.reset() }
        var turns: [Int64] = []
        while try statement.step() { turns.append(statement.int64(0)) }
        return turns
    }
}

/// A message as the columns of `outbox`.
private struct MessageColumns {
    enum Kind: Int {
        case awaits = 0
        case ended = 1
        case partEnded = 2
        case cancelPart = 3
    }

    var kind: Kind
    /// `awaits`: whether the result is wanted. `ended`: the status. `partEnded`: the members.
    var first: Int64?
    /// `ended`: 1 for may fail, 2 for not needed. `partEnded`: those that failed.
    var second: Int64?
    var reason: String?
    var result: [UInt8]?
}

extension MessageColumns {
    init(_ content: ShardMessage.Content) {
        switch content {
        case .awaits(let wantsResult): self.init(kind: .awaits, first: wantsResult ? 1 : 0)
        case .ended(let end):
            self.init(
                kind: .ended, first: end.status.map { Int64($0.rawValue) },
                second: (end.mayFail ? 1 : 0) | (end.isUnneeded ? 2 : 0), reason: end.reason, result: end.result)
        case .partEnded(let members, let failed):
            self.init(kind: .partEnded, first: Int64(members), second: Int64(failed))
        case .cancelPart: self.init(kind: .cancelPart)
        }
    }

    var content: ShardMessage.Content {
        get throws(StoreError) {
            switch kind {
            case .awaits: return .awaits(wantsResult: first == 1)
            case .ended:
                var end = RemoteEnd(status: nil, reason: reason, result: result)
                if let first {
                    guard let status = CommandStatus(rawValue: Int(first)) else {
                        throw StoreError(.corrupt, "a message has the status \(first)")
                    }
                    end.status = status
                }
                end.mayFail = (second ?? 0) & 1 != 0
                end.isUnneeded = (second ?? 0) & 2 != 0
                return .ended(end)
            case .partEnded: return .partEnded(members: Int(first ?? 0), failed: Int(second ?? 0))
            case .cancelPart: return .cancelPart
            }
        }
    }
}
