package import Commands

/// A message from a command of one shard to a command of another.
///
/// A transaction writes messages into the outbox of its shard (the outbox pattern). The coordinator carries each over:
/// ``QueueStore/receive(_:shard:)``, and after that commit ``QueueStore/remove(_:shard:)``. A message that is carried
/// twice changes nothing the second time.
package struct ShardMessage: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        /// The sender waits for the end of the receiver.
        /// - Parameters:
        ///   - qos: the sender's quality of service, which the receiver gets where its own is lower. Release 0.1.0 does not
        ///     write it.
        ///   - isRepeated: the question of a ``ShardDebt``. A receiver that is unknown was lost by a restore then.
        case awaits(wantsResult: Bool, qos: QualityOfService? = nil, isRepeated: Bool = false)
        /// The sender has ended, and the receiver waits for it.
        case ended(RemoteEnd)
        /// The members of a batch in a shard have ended. The sender is the part of that shard (``CommandID/part(in:)``).
        /// Negative numbers take back failures that were told before: these members are retried. Release 0.1.0 drops such a
        /// message, so that its batches keep their end.
        case partEnded(members: Int, failed: Int)
        /// The sender is a batch whose members in the shard of the receiver are to be cancelled.
        case cancelPart
        /// The sender is a batch that an urgent command waits for. Its members in the shard of the receiver get this quality of
        /// service where their own is lower.
        case raisePart(QualityOfService)
    }

    /// In the outbox of its shard.
    package var number: Int64 = 0
    package var receiver: CommandID
    package var sender: CommandID
    package var content: Content
}

/// The end of a command, as its dependants in other shards see it.
package struct RemoteEnd: Sendable, Equatable {
    /// Nil where the command has been removed.
    package var status: CommandStatus?
    /// Its failure counts as a success.
    package var mayFail = false
    /// It was cancelled because the end that it handles did not come.
    package var isUnneeded = false
    package var reason: String?
    /// Of a success, for a dependant that refers to it.
    package var result: [UInt8]?

    /// The end of a parent that a restore has lost.
    static let lostByRestore = RemoteEnd(status: nil, reason: "its parent is not in the restored shard")

    var outcome: ParentOutcome {
        switch status {
        case .success: .success
        default: isUnneeded ? .notNeeded : .failed(mayFail: mayFail)
        }
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

/// The effects that commands of one shard have on those of another.
extension Settlements {
    /// Takes in messages from other shards. Nothing happens twice: the rows say what has arrived.
    mutating func receive(_ messages: [ShardMessage]) throws(StoreError) {
        for message in messages {
            switch message.content {
            case .awaits(let wantsResult, let qos, let isRepeated):
                try receiveAwaits(message, wantsResult: wantsResult, qos, isRepeated: isRepeated)
            case .ended(let end): try receiveEnd(end, message)
            case .partEnded(let members, let failed): try receivePartEnd(message, members: members, failed: failed)
            case .cancelPart:
                guard var part = try rows.part(of: message.sender), part.state != .ended else { continue }
                part.state = .cancelled
                try rows.save(part)
                work.append(CascadeRow(turn: part.number, step: .cancelPart, after: 0))
                try BatchPart.end(part, shard: shard, &rows)
            case .raisePart(let qos): try receiveRaise(of: message.sender, to: qos)
            }
        }
        try run()
    }

    private mutating func receiveAwaits(
        _ message: ShardMessage, wantsResult: Bool, _ qos: QualityOfService?, isRepeated: Bool
    ) throws(StoreError) {
        guard var row = try rows.command(message.receiver) else {
            let content = ShardMessage.Content.ended(isRepeated ? .lostByRestore : RemoteEnd(status: nil))
            return try rows.post(ShardMessage(receiver: message.sender, sender: message.receiver, content: content))
        }
        var dependant = RemoteDependantRow(parent: row.command.turn, child: message.sender, wantsResult: wantsResult)
        dependant.number = try rows.add(dependant)
        if !row.relations.contains(.watched) {
            row.relations.insert(.watched)
            try rows.saveRelations(row)
        }
        if let qos { try raise(row.command.turn, to: qos, for: message.sender) }
        try notify([dependant], of: row)
    }

    private mutating func receiveEnd(_ end: RemoteEnd, _ message: ShardMessage) throws(StoreError) {
        guard let child = try rows.command(message.receiver),
            var dependency = try rows.remoteDependency(of: child.command.turn, on: message.sender),
            dependency.state != .satisfied
        else { return }
        dependency.status = end.status
        dependency.result = end.result
        if end.outcome.satisfies(dependency.condition) {
            dependency.state = .satisfied
            try rows.save(dependency)
            satisfied[dependency.child, default: 0] += 1
            return
        }
        guard dependency.state == .open else { return }
        dependency.state = .unsatisfiable
        try rows.save(dependency)
        if end.status == nil, let reason = end.reason {
            return try cancelDependant(
                dependency.child, cause: nil, isUnneeded: false, reason: "\(reason): “\(message.sender)”")
        }
        let isUnneeded = end.outcome.makesUnneeded(dependency.condition)
        let word =
            switch end.status {
            case .cancelled: "was cancelled"
            case nil: "was removed"
            default: "was given up"
            }
        try cancelDependant(
            dependency.child, cause: nil, isUnneeded: isUnneeded,
            reason: isUnneeded
                ? "not needed: “\(message.sender)” \(end.status == .success ? "succeeded" : "was not needed")"
                : "it waited for “\(message.sender)”, which \(word)" + (end.reason.map { ": \($0)" } ?? ""))
    }

    /// Tells the dependants in other shards that a command has ended.
    mutating func notify(_ cascade: CascadeRow) throws(StoreError) {
        guard let row = try rows.command(turn: cascade.turn) else { return }
        let page = try rows.remoteDependants(of: cascade.turn, after: cascade.after, limit: pageSize)
        try notify(page, of: row)
        try step(cascade, over: page.map(\.number)) { (_: inout Self, _: Int64) throws(StoreError) in }
    }

    private mutating func notify(_ dependants: [RemoteDependantRow], of row: StoredCommand) throws(StoreError) {
        let flags = try rows.node(row.command.turn)?.flags ?? []
        guard ParentOutcome(row.command.status, flags) != nil else { return }
        var end = RemoteEnd(status: row.command.status, reason: row.command.reason)
        end.mayFail = flags.contains(.mayFail)
        end.isUnneeded = flags.contains(.notNeeded)
        for dependant in dependants {
            end.result =
                dependant.wantsResult && row.command.status == .success ? try rows.result(of: row.id) : nil
            try rows.post(ShardMessage(receiver: dependant.child, sender: row.id, content: .ended(end)))
            // A success stays one.
            if row.command.status == .success { try rows.remove(dependant) }
        }
    }
}
