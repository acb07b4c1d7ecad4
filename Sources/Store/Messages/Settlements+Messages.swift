internal import Commands

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
