internal import Commands

/// The rows of messages to other shards, and of the commands that wait for them.
extension Connection {
    func command(_ id: CommandID) throws(StoreError) -> StoredCommand? { try find(id) }

    func remoteDependencies(of child: Int64) throws(StoreError) -> [RemoteDependencyRow] {
        try statement(.remoteDependencies, child).rows(RemoteDependencyRow.init)
    }

    func remoteDependency(of child: Int64, on parent: CommandID) throws(StoreError) -> RemoteDependencyRow? {
        try statement(.remoteDependency, child, parent).first(RemoteDependencyRow.init)
    }

    func save(_ dependency: RemoteDependencyRow) throws(StoreError) {
        try statement(
            .saveRemoteDependency, dependency.child, dependency.parent, dependency.condition.rawValue,
            dependency.state.rawValue, dependency.status, dependency.result
        ).run()
    }

    func remoteDependants(
        of parent: Int64, after number: Int64, limit: Int
    ) throws(StoreError) -> [RemoteDependantRow] {
        try statement(.remoteDependants, parent, number, limit).rows { row throws(StoreError) in
            RemoteDependantRow(
                number: row.int64(0), parent: parent, child: try row.id(1), wantsResult: row.bool(2))
        }
    }

    func add(_ dependant: RemoteDependantRow) throws(StoreError) -> Int64 {
        try statement(.addRemoteDependant, dependant.parent, dependant.child, dependant.wantsResult).run()
        return try statement(.remoteDependantNumber, dependant.parent, dependant.child).first { $0.int64(0) } ?? 0
    }

    func remove(_ dependant: RemoteDependantRow) throws(StoreError) {
        try statement(.removeRemoteDependant, dependant.number).run()
    }

    // MARK: Outbox

    func post(_ message: ShardMessage) throws(StoreError) {
        let columns = MessageColumns(message.content)
        try statement(
            .post, message.receiver, message.sender, columns.kind.rawValue, columns.first, columns.second,
            columns.reason, columns.result
        ).run()
    }

    func outbox(after number: Int64, limit: Int) throws(StoreError) -> [ShardMessage] {
        try statement(.outbox, number, limit).rows { row throws(StoreError) in
            ShardMessage(
                number: row.int64(0), receiver: try row.id(1), sender: try row.id(2),
                content: try MessageColumns(row).content)
        }
    }

    func removeMessage(_ number: Int64) throws(StoreError) { try statement(.removeMessage, number).run() }
}

extension RemoteDependencyRow {
    fileprivate init(_ row: Statement) throws(StoreError) {
        self.init(
            child: row.int64(0), parent: try row.id(1), condition: try row.condition(2),
            state: try row.dependencyState(3), status: row.isNull(4) ? nil : try row.status(4),
            result: row.optionalBytes(5))
    }
}

/// A message as the columns of `outbox`.
struct MessageColumns {
    enum Kind: Int {
        case awaits = 0
        case ended = 1
        case partEnded = 2
        case cancelPart = 3
        case raisePart = 4
    }

    var kind: Kind
    /// `awaits`: whether the result is wanted. `ended`: the status. `partEnded`: the members. `raisePart`: the quality of service.
    var first: Int64?
    /// `awaits`: 1 where it is repeated, and 256 times the number of the quality of service and one. `ended`: 1 for may fail, 2
    /// for not needed. `partEnded`: those that failed.
    var second: Int64?
    var reason: String?
    var result: [UInt8]?
}

extension MessageColumns {
    /// Reads kind, first, second, reason, result from the fourth column on.
    init(_ row: Statement) throws(StoreError) {
        self.init(
            kind: try row.value(3, "a message has the kind"), first: row.optionalInt64(4),
            second: row.optionalInt64(5), reason: row.optionalText(6), result: row.optionalBytes(7))
    }

    init(_ content: ShardMessage.Content) {
        switch content {
        case .awaits(let wantsResult, let qos, let isRepeated):
            let second = (isRepeated ? 1 : 0) + (qos.map { ($0.rawValue + 1) * 256 } ?? 0)
            self.init(kind: .awaits, first: wantsResult ? 1 : 0, second: second == 0 ? nil : Int64(second))
        case .ended(let end):
            self.init(
                kind: .ended, first: end.status.map { Int64($0.rawValue) },
                second: (end.mayFail ? 1 : 0) | (end.isUnneeded ? 2 : 0), reason: end.reason, result: end.result)
        case .partEnded(let members, let failed):
            self.init(kind: .partEnded, first: Int64(members), second: Int64(failed))
        case .cancelPart: self.init(kind: .cancelPart)
        case .raisePart(let qos): self.init(kind: .raisePart, first: Int64(qos.rawValue))
        }
    }

    var content: ShardMessage.Content {
        get throws(StoreError) {
            switch kind {
            case .awaits:
                let second = UInt64(bitPattern: second ?? 0)
                let qos = Int(exactly: second >> 8).flatMap { QualityOfService(rawValue: $0 - 1) }
                return .awaits(wantsResult: first == 1, qos: qos, isRepeated: second & 1 == 1)
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
            case .raisePart:
                guard let qos = QualityOfService(rawValue: Int(truncatingIfNeeded: first ?? -1)) else {
                    throw StoreError(.corrupt, "a message has the quality of service \(first ?? -1)")
                }
                return .raisePart(qos)
            }
        }
    }
}
