internal import Commands

/// Inserts of commands with their payloads.
extension Connection {
    /// Inserts the rows that have gathered, with as few statements as possible, and empties `rows`.
    func insert(_ rows: inout [(StoredCommand, payload: [UInt8])], areRelated: Bool = false) throws(StoreError) {
        var next = 0
        for size in Query.insertSizes {
            while rows.count - next >= size {
                try insert(rows[next..<next + size], areRelated: areRelated)
                next += size
            }
        }
        rows.removeAll(keepingCapacity: true)
    }

    private func insert(
        _ rows: ArraySlice<(StoredCommand, payload: [UInt8])>, areRelated: Bool
    ) throws(StoreError) {
        let commands = try statement(areRelated ? .relatedCommands : .commands, rows: rows.count)
        let payloads = try statement(.payloads, rows: rows.count)
        var parameter: Int32 = 1
        var payloadParameter: Int32 = 1
        for (row, payload) in rows {
            let command = row.command
            commands.bind(command.turn, at: parameter)
            commands.bind(command.id, at: parameter + 1)
            commands.bind(command.type, at: parameter + 2)
            commands.bind(command.qos, at: parameter + 3)
            commands.bind(command.destination.text, at: parameter + 4)
            commands.bind(command.idempotent, at: parameter + 5)
            commands.bind(command.retryLimit, at: parameter + 6)
            commands.bind(row.storedNotBefore, at: parameter + 7)
            commands.bind(command.deadline, at: parameter + 8)
            commands.bind(row.openDeadline, at: parameter + 9)
            commands.bind(command.uniqueKey, at: parameter + 10)
            commands.bind(row.digest.map { Self.digestMark + $0 }, at: parameter + 11)
            commands.bind(command.total, at: parameter + 12)
            commands.bind(row.newestSeq, at: parameter + 13)
            commands.bind(command.createdAt, at: parameter + 14)
            commands.bind(command.updatedAt, at: parameter + 15)
            parameter += 16
            if version >= 3 {
                commands.bind(command.uniqueFor.stored, at: parameter)
                parameter += 1
            }
            if areRelated {
                commands.bind(command.status, at: parameter)
                commands.bind(row.relations.rawValue, at: parameter + 1)
                commands.bind(command.orderingKey, at: parameter + 2)
                commands.bind(command.batch, at: parameter + 3)
                commands.bind(command.limit, at: parameter + 4)
                parameter += 5
            }
            payloads.bind(command.turn, at: payloadParameter)
            payloads.bind(payload, at: payloadParameter + 1)
            payloadParameter += 2
        }
        try commands.run()
        try payloads.run()
    }
}
